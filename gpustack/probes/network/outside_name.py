"""A name outside the cluster, asked of the cluster's DNS from a pod, and of the host's own name servers.

A name of the host's /etc/hosts does not count, as pods have none of these. The question comes from the network
namespace of a pod that runs on the host, within two seconds; nothing is made.
kubeadm gives DNS the tenth address of the service network (cmd/kubeadm/app/constants).
"""

from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.network.pod_network import POD_SPACES, PROGRAM, RESULTS
from gpustack.probes.parsing import parse_ipv4

NO_NAME = "no-name"
"""The result of a server that says that there is no such name (NXDOMAIN, RFC 1035)."""


@dataclass(frozen=True)
class OutsideName:
    """Describe how a name resolves: `host_result` by the host, `pod_result` by the DNS server at `server` from a pod.
    The last two are empty where the host has no pod to ask from. Results are those of RESULTS, and NO_NAME."""

    name: str
    host_result: str
    server: str
    pod_result: str


def parse_outside_name(answer: Answer) -> OutsideName | None:
    """Parse how the name resolves, or None where no name was asked. Raise ValueError or KeyError where a line has
    another shape."""
    if not answer.stdout:
        return None
    words_by_subject = {line.split(" ")[0]: line.split(" ")[1:] for line in answer.stdout.splitlines()}
    (name,), (host_result,) = words_by_subject["name"], words_by_subject["host"]
    address, server, pod_result = words_by_subject.get("pod", ("", "", ""))
    if not {host_result, pod_result} <= RESULTS | {NO_NAME, ""}:
        raise ValueError(shorten_message(answer.stdout))
    if address:
        parse_ipv4(address)
    return OutsideName(name, host_result, server and parse_ipv4(server), pod_result)


OUTSIDE_NAME = Probe(
    "network.outside-name",
    Lines(POD_SPACES + read_script(__file__, "outside_name.sh").replace("PROGRAM", PROGRAM.strip())),
    parse_outside_name,
    limit=6,
    manual_command="nsenter --net=/run/netns/POD nslookup NAME 10.96.0.10; getent -s dns ahostsv4 NAME",
)

"""The kubelet's own word about its health and its cgroups. Whether its unit runs is among `units.services`."""

from typing import Literal, get_args

from gpustack.ask.probe import Answer, Lines, Probe, Shell
from gpustack.probes.host.disk import writable

Health = Literal["ok", "failing", "silent"]
Driver = Literal["", "systemd", "cgroupfs"]


def health(answer: Answer) -> Health:
    """`silent` is nothing listening. Raises ValueError where there is no curl to ask with, and for a success with
    another text than the kubelet's: then something else answered (k8s.io/apiserver pkg/server/healthz writes `ok`)."""
    if answer.rc == 0 and answer.out.strip() == "ok":
        return "ok"
    if answer.rc == 7:
        return "silent"
    if answer.rc in (22, 28, 52, 56):
        return "failing"
    raise ValueError(answer.err or answer.out)


# 10248 is healthzPort, which the kubelet binds to the loopback alone. Exit statuses are those of curl(1): 7 could not
# connect, 22 an HTTP error, 28 too late, 52 and 56 an answer that was broken off.
HEALTH = Probe(
    "kubelet.health", Shell("curl -sSf -m 2 http://127.0.0.1:10248/healthz"), health, ends=(0, 7, 22, 28, 52, 56)
)


def driver(answer: Answer) -> Driver:
    """Empty where it does not run, or has not answered. Raises ValueError for another word."""
    found = answer.out.strip()
    if found not in get_args(Driver):
        raise ValueError(found)
    return found  # type: ignore[return-value]


# KEP-4033: since 1.34 it asks the runtime at its own start, and never again. What it said then is at the beginning of
# its log; a kubelet that has run for long may have said more than the journal keeps, one of a full disk left no word.
CGROUPS = Probe(
    "kubelet.cgroups",
    Lines(rf"""command -v journalctl >/dev/null || exit
started=$(systemctl show -p InvocationID --value kubelet.service)
[ -n "$started" ] || exit 0
output=$(journalctl "_SYSTEMD_INVOCATION_ID=$started" -o cat --no-pager 2>/dev/null | sed -nE \
  '/.*"Using cgroup driver setting received from the CRI runtime" cgroupDriver="([a-z]*)".*/{{s//\1/p;q}};2000q')
[ -z "$output" ] || echo "$output"
[ -n "$output" ] || [ ! -d /var/log/journal ] || {writable("/var/log/journal")} && exit 0
echo 'the disk of the journal is full: it does not have the start of the kubelet' >&2
exit 1"""),
    driver,
    like="journalctl -u kubelet | grep 'cgroup driver'",
)

"""Answers of what pods and hosts reach, written as the probe prints them."""

from collections.abc import Iterable, Mapping

from gpustack.ask.probe import Answer
from tests.worlds.snapshots.answers import make_answer

PEER = "peer 10.244.1.0/24 10.244.1.0 flannel.1 de:95:aa:8d:15:4d 10.78.0.12"
THIRD = "peer 10.244.2.0/24 10.244.2.0 flannel.1 de:95:aa:8d:15:4e 10.78.0.13"
API = ("api 10.78.0.11:6443", "service 10.96.0.1:443")
DNS = ("dns 10.96.0.10", "dns 10.244.1.2")
NODE = ("node 10.78.0.12:10250", "echo 10.78.0.12")
ENDS = ("overlay 10.244.1.0", "bridge 10.244.1.1", "bridge-large 10.244.1.1")
POD = ("pod 10.244.1.5:9400", "pod-echo 10.244.1.5", "pod-large 10.244.1.5")
ALL_TARGETS = (*API, *DNS, *NODE, *ENDS, *POD)


def format_lines(results: Mapping[str, str], kinds: Iterable[str] = ALL_TARGETS) -> list[str]:
    """Format `results` by kind, or by the whole of kind and target; ok where nothing is given."""
    return [f"{kind} {results.get(kind, results.get(kind.split(' ')[0], 'ok'))}" for kind in kinds]


def make_paths(
    host: Mapping[str, str] | None = None,
    pod: Mapping[str, str] | None = None,
    *,
    peers: Iterable[str] = (PEER,),
    kinds: Iterable[str] = ALL_TARGETS,
) -> Answer:
    """Make an answer of failing paths, from the host and from its one pod; without `pod`, no pod runs there."""
    kinds = tuple(kinds)
    stdout = ["== known", "own 10.244.0.0/24", *peers, "== host", *format_lines(host or {}, kinds)]
    stdout += [] if pod is None else ["== pod 10.244.0.4", *format_lines(pod, kinds)]
    return make_answer("pod-network.paths", "\n".join(stdout) + "\n")

"""The kubelet's own word about its health. Whether its unit runs is among `units.services`."""

from typing import Literal

from gpustack.ask.probe import Answer, Probe, Shell

Health = Literal["ok", "failing", "silent"]


def health(answer: Answer) -> Health:
    """`silent` is nothing listening. Raises ValueError where there is no curl to ask with."""
    if answer.rc == 0:
        return "ok" if answer.out.strip() == "ok" else "failing"
    if answer.rc == 7:
        return "silent"
    if answer.rc in (22, 28, 52, 56):
        return "failing"
    raise ValueError(answer.err)


# 10248 is healthzPort, which the kubelet binds to the loopback alone. Exit statuses are those of curl(1): 7 could not
# connect, 22 an HTTP error, 28 too late, 52 and 56 an answer that was broken off.
HEALTH = Probe(
    "kubelet.health", Shell("curl -sSf -m 2 http://127.0.0.1:10248/healthz"), health, ends=(0, 7, 22, 28, 52, 56)
)

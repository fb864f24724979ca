"""Violations of a policy as `dcgmi policy --reg` prints them while it listens: a time, a sentence, and a number.

DCGM 4.6.0, dcgmi/Policy.cpp, RegisterForPolicyUpdates (it listens to all kinds, without an end, and reports the kinds
that a policy names) and ListenForViolations, which does not name the GPU. The time is that of the engine's host,
without its zone. It was never seen live.

    Listening for violations.
    Timestamp: Wed Nov 25 10:00:00 2026
    A double-bit ECC error has violated policy manager values.
    DBE error count: 2
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.engines.call import Reply
from gpustack.engines.engine import Engine

LISTENING, TIME = "Listening for violations.", "Timestamp: "


@dataclass(frozen=True)
class Violation:
    """Hold a violation; `values` are in DCGM's words."""

    node: str
    time: str
    violation: str
    values: tuple[str, ...]


def build_listen_command(engine: Engine, seconds: int) -> str:
    """Build a command that listens. It never ends by itself: 124 is the status with which timeout(1) ends it."""
    return f"{engine.build_command(('policy', '--reg'), before=f'timeout --signal=INT {seconds} ')}; [ $? = 124 ]"


def parse_violations(reply: Reply) -> Iterator[Violation]:
    """Parse violations. Raise ValueError where dcgmi did not listen."""
    _, listening, text = reply.stdout.partition(f"{LISTENING}\n")
    if not listening:
        raise ValueError(reply.stdout[:80])
    for part in text.split(TIME)[1:]:
        time, *words = [line.strip() for line in part.splitlines() if line.strip()]
        yield Violation(reply.node, time, words[0] if words else "", tuple(words[1:]))

"""A host has an identity and a clock of its own, beside the others."""

from collections.abc import Mapping

import pytest

from gpustack.ask.probe import Answer
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import make_answer, place_answers

SYSTEM_TIME = 1795237201


def judge_host(id: str, answers: Mapping[tuple[str, str], Answer], location: str = "h1") -> tuple[str, str]:
    return summarize(evaluate(id, hosts.build_snapshot(answers), location))


def build_clocks(first: int, second: int) -> dict[tuple[str, str], Answer]:
    return {
        ("system.time", f"h{i}"): make_answer("system.time", f"{SYSTEM_TIME + offset}\n")
        for i, offset in ((1, first), (2, second))
    }


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [(0, 0, "ok"), (3600, 0, "failed"), (-3600, 0, "failed"), (3600, 3605, "ok"), (0, 3600, "ok")],
)
def test_a_clock_is_compared_with_the_others(first: int, second: int, outcome: str) -> None:
    """If all hosts differ alike, the controller's clock is wrong."""
    assert judge_host("host-time-skew", build_clocks(first, second))[0] == outcome


def test_an_unreadable_clock_is_unknown() -> None:
    assert judge_host("host-time-skew", place_answers("h1", make_answer("system.time", "late\n")))[0] == "unknown"


def test_two_hosts_of_one_image_fail() -> None:
    assert judge_host("host-duplicate-identity", {})[0] == "ok"
    copies = {("system.hostname", host): make_answer("system.hostname", "node\n") for host in ("h1", "h2")}
    assert judge_host("host-duplicate-identity", copies) == ("failed", "host name node of h1, h2")
    machines = {("system.identity", host): make_answer("system.identity", f"{'a' * 32}\n\n") for host in ("h1", "h2")}
    assert judge_host("host-duplicate-identity", machines, "h2")[1] == f"machine-id {'a' * 32} of h1, h2"
    addresses = {
        ("network.address", f"h{i}"): make_answer("network.address", "192.0.2.1 src 10.0.0.1\n") for i in (1, 2)
    }
    assert judge_host("host-duplicate-identity -> flannel-wrong-interface", addresses)[0] == "failed"
    assert judge_host("host-duplicate-identity -> flannel-wrong-interface", {})[0] == "ok"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("GPU-Node1", "ok"), ("GPU_Node1", "failed"), ("a.b", "ok"), ("-a", "failed"), ("", "unknown")],
)
def test_a_name_that_a_node_cannot_have_fails(name: str, outcome: str) -> None:
    assert (
        judge_host("host-hostname-invalid", place_answers("h1", make_answer("system.hostname", f"{name}\n")))[0]
        == outcome
    )

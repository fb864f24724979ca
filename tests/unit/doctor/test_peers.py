"""How a broken host differs from the others: what the same check found there, where it refuted."""

from gpustack.ask.judge import Judgement, Result
from gpustack.doctor.finding import Finding, Peers
from gpustack.doctor.peers import group_peers


def judged(where: str, outcome: str, found: str, what: str = "ip_forward", id: str = "off") -> Judgement:
    result = None if outcome == "unknown" else Result(what, "1", found, ok=outcome != "failed")
    return Judgement(id, where, outcome, result)  # type: ignore[arg-type]


def asked(*all_of_them: Judgement) -> tuple[Peers, ...]:
    root = Finding(
        "off",
        tuple(judgement for judgement in all_of_them if judgement.id == "off" and judgement.outcome == "failed"),
        "certain",
    )
    return group_peers(root, {one.place: one for one in all_of_them})


def test_healthy_hosts_are_reported_with_what_was_found_there() -> None:
    peerses = asked(
        judged("a", "failed", "0"),
        judged("b", "ok", "no kernel", "kernel"),
        judged("c", "ok", "1"),
        judged("d", "unknown", ""),
        judged("e", "ok", "1"),
        judged("c", "ok", "something else", id="other"),
    )
    assert peerses == (Peers(("c", "e"), "1"), Peers(("b",), "kernel: no kernel"))


def test_what_is_wrong_everywhere_or_nowhere_else_known_has_no_peers() -> None:
    assert asked(judged("a", "failed", "0"), judged("b", "failed", "0"), judged("c", "unknown", "")) == ()


def test_a_root_of_the_cluster_has_none() -> None:
    assert asked(judged("@cluster", "failed", "0"), judged("b", "ok", "1")) == ()

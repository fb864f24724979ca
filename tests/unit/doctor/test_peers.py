"""How a broken host differs from the others: what the same check said there, where it refuted."""

from gpustack.doctor.finding import Finding, Judged
from gpustack.doctor.peers import Peers, peers
from gpustack.doctor.tells import Told


def judged(where: str, outcome: str, found: str, what: str = "ip_forward", id: str = "off") -> Judged:
    told = None if outcome == "unknown" else Told(outcome == "confirmed", what, "1", found)
    return Judged(id, where, outcome, told)  # type: ignore[arg-type]


def asked(*all_of_them: Judged) -> tuple[Peers, ...]:
    root = Finding(
        "off", tuple(one for one in all_of_them if one.id == "off" and one.outcome == "confirmed"), "certain"
    )
    return peers(root, {one.place: one for one in all_of_them})


def test_hosts_that_are_well_are_told_by_what_was_found_there() -> None:
    found = asked(
        judged("a", "confirmed", "0"),
        judged("b", "refuted", "no kernel", "kernel"),
        judged("c", "refuted", "1"),
        judged("d", "unknown", ""),
        judged("e", "refuted", "1"),
        judged("c", "refuted", "something else", id="other"),
    )
    assert found == (Peers(("c", "e"), "1"), Peers(("b",), "kernel: no kernel"))


def test_what_is_wrong_everywhere_or_nowhere_else_known_has_no_peers() -> None:
    assert asked(judged("a", "confirmed", "0"), judged("b", "confirmed", "0"), judged("c", "unknown", "")) == ()


def test_a_root_of_the_cluster_has_none() -> None:
    assert asked(judged("@cluster", "confirmed", "0"), judged("b", "refuted", "1")) == ()

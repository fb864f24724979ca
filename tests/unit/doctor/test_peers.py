"""A broken host is compared with the others: what the same check found there, where it refuted."""

from gpustack.ask.judge import Judgement, Result
from gpustack.doctor.finding import Finding, Peers
from gpustack.doctor.peers import group_peers


def build_judgement(
    location: str, outcome: str, actual: str, subject: str = "ip_forward", id: str = "off"
) -> Judgement:
    result = None if outcome == "unknown" else Result(subject, "1", actual, ok=outcome != "failed")
    return Judgement(id, location, outcome, result)  # type: ignore[arg-type]


def find_peers(*all_of_them: Judgement) -> tuple[Peers, ...]:
    root = Finding(
        "off",
        tuple(judgement for judgement in all_of_them if judgement.id == "off" and judgement.outcome == "failed"),
        "certain",
    )
    return group_peers(root, {judgement.place: judgement for judgement in all_of_them})


def test_healthy_hosts_are_reported_with_what_was_found_there() -> None:
    peerses = find_peers(
        build_judgement("a", "failed", "0"),
        build_judgement("b", "ok", "no kernel", "kernel"),
        build_judgement("c", "ok", "1"),
        build_judgement("d", "unknown", ""),
        build_judgement("e", "ok", "1"),
        build_judgement("c", "ok", "something else", id="other"),
    )
    assert peerses == (Peers(("c", "e"), "1"), Peers(("b",), "kernel: no kernel"))


def test_what_is_wrong_everywhere_or_nowhere_else_known_has_no_peers() -> None:
    assert (
        find_peers(
            build_judgement("a", "failed", "0"),
            build_judgement("b", "failed", "0"),
            build_judgement("c", "unknown", ""),
        )
        == ()
    )


def test_a_root_of_the_cluster_has_none() -> None:
    assert find_peers(build_judgement("@cluster", "failed", "0"), build_judgement("b", "ok", "1")) == ()

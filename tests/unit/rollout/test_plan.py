"""States of steps from invented facts: broken, unknown, later, and who blocks whom."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gpustack.ask.judge import Result, expect
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.rollout.plan import has_playable_step, plan
from gpustack.steps.step import Step

HOST1 = Host("h1", "10.0.0.1", groups=frozenset({CONTROL_PLANE, NODE}))
TWO = Host("h2", "10.0.0.2", groups=frozenset({NODE}))
FIRST = Probe("first", Shell("true"), lambda answer: answer.stdout)
SECOND = Probe("second", Shell("true"), lambda answer: answer.stdout)


def first(view: View) -> Result | None:
    return expect("first", "good", view[FIRST])


def second(view: View) -> Result | None:
    return expect("second", "good", view[SECOND])


def everywhere(view: View) -> Result | None:
    return expect("all", ["good", "good"], [view.select_host(host.name)[FIRST] for host in view.hosts])


BASE = Step("base", "host", (FIRST,), (first,))
TOP = Step("top", "host", (SECOND,), (second,), needs=("base",))
WHOLE_STEP = Step("whole", "cluster", (FIRST,), (everywhere,), needs=("base",))


def snapshot(answers: dict[tuple[str, str], str], silent: tuple[str, ...] = ()) -> Snapshot:
    return Snapshot(
        datetime.now(UTC),
        Inventory(None, (HOST1, TWO), Spec()),
        {
            host.name: Reach(host.name, "host-ssh-unreachable" if host.name in silent else "", "gone")
            for host in (HOST1, TWO)
        },
        {key: Answer(*key, 0, stdout) for key, stdout in answers.items()},
    )


def list_outcomes(facts: Snapshot, *steps: Step) -> dict[tuple[str, str], str]:
    return {(state.step, state.location): state.outcome for state in plan(facts, steps).states}


def test_a_step_that_holds_everywhere_is_converged() -> None:
    taken_snapshot = snapshot({("first", "h1"): "good", ("first", "h2"): "good"})
    assert plan(taken_snapshot, [BASE, WHOLE_STEP]).converged


def test_unknown_behind_a_drifted_need_is_later() -> None:
    taken_snapshot = snapshot({("first", "h1"): "bad", ("first", "h2"): "good"})
    states = {(s.step, s.location): s for s in plan(taken_snapshot, [BASE, TOP]).states}
    assert states["top", "h1"].outcome == "pending"
    assert states["top", "h1"].after == "base"
    assert states["top", "h2"].outcome == "unknown"


def test_what_a_need_needs_counts_too() -> None:
    """The step between holds: containerd stopped, the control plane goes on, and the node is not Ready."""
    taken_snapshot = snapshot(
        {("first", "h1"): "bad", ("second", "h1"): "good", ("first", "h2"): "good", ("second", "h2"): "good"}
    )
    late = Probe("late", Shell("true"), lambda answer: answer.stdout)
    third = Step("third", "host", (late,), (lambda view: expect("late", "good", view[late]),), needs=("top",))
    states = {(s.step, s.location): s for s in plan(taken_snapshot, [BASE, TOP, third]).states}
    assert states["top", "h1"].outcome == "ok"
    assert (states["third", "h1"].outcome, states["third", "h1"].after) == ("pending", "base")
    assert states["third", "h2"].outcome == "unknown"


def test_a_dead_host_is_unknown_and_never_ok_or_later() -> None:
    taken_snapshot = snapshot({("first", "h1"): "good"}, silent=("h2",))
    result = plan(taken_snapshot, [BASE, TOP])
    assert {(s.step, s.location): s.outcome for s in result.states}["base", "h2"] == "unknown"
    assert not result.converged
    assert result.unreachable_hosts == ("h2",)


def test_a_cluster_check_waits_for_any_host() -> None:
    taken_snapshot = snapshot({("first", "h1"): "good", ("first", "h2"): "bad"})
    assert list_outcomes(taken_snapshot, BASE, WHOLE_STEP)["whole", "@cluster"] == "failed"


def test_limit_selects_the_named_hosts_alone() -> None:
    taken_snapshot = snapshot({("first", "h1"): "good", ("first", "h2"): "bad"})
    assert plan(taken_snapshot, [BASE], limit=["h1"]).converged


def test_what_was_read_is_the_evidence() -> None:
    taken_snapshot = snapshot({("first", "h1"): "bad", ("first", "h2"): "good"})
    state = plan(taken_snapshot, [BASE]).drifted_states[0]
    assert [(e.location, e.answer.stdout) for e in state.judgements[0].evidence] == [("h1", "bad")]
    assert str(state.differences[0]) == "first: expected good, actual bad"


def ask_a_person(view: View) -> Result | None:
    result = first(view)
    return replace(result, cure="operator") if result else None


PERSON_STEP = Step("person", "host", (FIRST,), (ask_a_person,))


@pytest.mark.parametrize(
    ("bad_hosts", "playable"), [(("h1",), False), (("h2",), True), (("h1", "h2"), False), ((), True)]
)
def test_no_step_is_played_behind_one_that_needs_a_person(bad_hosts: tuple[str, ...], *, playable: bool) -> None:
    """The second step differs on both hosts. It follows on no host where h1, the control plane, needs a person."""
    first_answers = {("first", host): "bad" if host in bad_hosts else "good" for host in ("h1", "h2")}
    facts = snapshot({**first_answers, ("second", "h1"): "bad", ("second", "h2"): "bad"})
    assert has_playable_step(plan(facts, [PERSON_STEP, TOP])) is playable

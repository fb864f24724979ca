"""The fix protocol on recorded hosts: its order, one root at a time, and where it ends."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.judge import Judgement, Result
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor import diagnose as doctor
from gpustack.doctor.finding import Diagnosis, Drift, UnexplainedSymptom, Verdict
from gpustack.errors import RolloutError
from gpustack.events import INTERRUPTION
from gpustack.remedy import fix as module
from gpustack.remedy.offer import Offer
from gpustack.rollout.plan import PlaybookRun
from tests.worlds.programs.fix_run import FORWARD, INOTIFY, STOPPED_SERVICE, SWAP, World, list_endings

IP, SWAP_ON, CONTAINERD = "host-ip-forward-off", "host-swap-on", "containerd-not-running"
INSTANCES = "host-inotify-exhausted"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAUSE", "RESOLVE_LIMIT", "SYMPTOM_LIMIT"):
        monkeypatch.setattr(module, name, 0.0)


def test_the_order_is_ask_show_yes_copy_play_ask_keep_diagnose() -> None:
    world = World(FORWARD)
    result = world.run_fix()
    assert world.log == [
        "ask", f"show {IP}", "yes?", "ask", f"copy {IP} on h1", "play remedy/sysctl on h1", "keep", "ask", "ask",
    ]  # fmt: skip
    assert list_endings(result) == {IP: "fixed"}
    assert result.attempts[0].records[0].files == ("/etc/x",)
    assert (result.after.roots, result.stop_reason) == ((), "")


def test_what_is_safe_is_asked_about_once_and_done_one_after_the_other() -> None:
    world = World(FORWARD | INOTIFY)
    result = world.run_fix()
    assert world.agrees == [[IP, INSTANCES]]
    assert [text for text in world.acts if text.startswith("play")] == ["play remedy/sysctl on h1"] * 2
    assert set(list_endings(result).values()) == {"fixed"}


def test_what_harms_nothing_yet_is_fixed_last_and_swap_needs_its_own_yes() -> None:
    world = World(FORWARD | SWAP)
    result = world.run_fix()
    assert world.agrees == [[IP], [SWAP_ON]]
    assert [text for text in world.acts if text.startswith("play")] == [
        "play remedy/sysctl on h1",
        "play prereqs on h1",
    ]
    assert set(list_endings(result).values()) == {"fixed"}


def test_a_fault_of_a_step_is_fixed_by_that_step_alone() -> None:
    world = World(FORWARD | SWAP)
    world.run_fix(SWAP_ON)
    assert [text for text in world.acts if text.startswith("play")] == ["play prereqs on h1"]


def test_ask_needs_its_own_yes() -> None:
    world = World(FORWARD | {("units.services", "h1"): STOPPED_SERVICE})
    result = world.run_fix()
    assert [CONTAINERD] in world.agrees
    assert all(CONTAINERD not in agreed_offers or agreed_offers == [CONTAINERD] for agreed_offers in world.agrees)
    assert list_endings(result)[CONTAINERD] == "fixed"


def test_declined_changes_nothing() -> None:
    world = World(FORWARD)
    world.yes = False
    result = world.run_fix()
    assert world.acts == [f"show {IP}", "yes?"]
    assert list_endings(result) == {IP: "declined"}
    assert (result.tried_attempts, result.exit_status) == ((), 1)


def test_what_does_not_turn_is_undone_and_nothing_follows() -> None:
    world = World(FORWARD | SWAP, stubborn=[IP])
    result = world.run_fix()
    assert [text for text in world.acts if not text.startswith(("show", "yes"))] == [
        f"copy {IP} on h1", "play remedy/sysctl on h1", "keep", "undo",
    ]  # fmt: skip
    assert list_endings(result) == {IP: "not-resolved"}
    assert result.attempts[0].rollback_actions == ("h1: restored /etc/x",)
    assert "ip_forward" in result.attempts[0].reason
    assert result.exit_status == 6


def test_a_play_that_fails_and_mends_nothing_is_undone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESOLVE_LIMIT", 1e9)
    world = World(FORWARD, failing=[IP])
    result = world.run_fix()
    assert world.acts[-1] == "undo"
    assert result.exit_status == 5


def test_what_is_gone_by_itself_is_left_alone() -> None:
    world = World(FORWARD)
    before = world.diagnose()
    world.faults = {}
    result = module.Fix(world.gather, world.play, world, world.undo, world.show, world.agree, lambda _: None).run(
        before
    )
    assert world.acts == []
    assert list_endings(result) == {IP: "recovered"}


def test_what_has_become_unknown_is_not_resolved() -> None:
    world = World(FORWARD)

    def play(offer: Offer, snapshot: Snapshot) -> PlaybookRun:
        run = World.play(world, offer, snapshot)
        world.faults = {
            key: replace(answer, rc=-1, stdout="", missing_reason="it hung") for key, answer in FORWARD.items()
        }
        return run

    result = module.Fix(world.gather, play, world, world.undo, world.show, world.agree, lambda _: None).run(
        world.diagnose()
    )
    assert list_endings(result) == {IP: "not-resolved"}
    assert world.acts[-1] == "undo"


def test_without_copies_nothing_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(FORWARD)

    def refuse_copies(*_: object) -> None:
        raise RolloutError("fix-copies", "No space.")

    monkeypatch.setattr(world, "begin", refuse_copies)
    with pytest.raises(RolloutError):
        world.run_fix()
    assert [text for text in world.acts if text.startswith("play")] == []


def test_an_interrupt_keeps_what_was_begun_and_undoes_nothing() -> None:
    world = World(FORWARD | SWAP, stubborn=[IP])
    real = world.play

    def play(offer: Offer, snapshot: Snapshot) -> PlaybookRun:
        world.stop = INTERRUPTION
        return real(offer, snapshot)

    result = module.Fix(
        world.gather, play, world, world.undo, world.show, world.agree, lambda _: None, cancellation=lambda: world.stop
    ).run(world.diagnose())
    assert world.acts[-1] == "keep"
    assert list_endings(result) == {IP: "interrupted"}
    assert result.exit_status == 130


def test_an_id_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnosis after the fix may find the id again."""
    world = World(FORWARD)
    before = world.faults
    gather_before = world.gather

    def gather(probes: Sequence[object]) -> Snapshot:
        if len(probes) > 50:
            world.faults = dict(before)
        return gather_before(probes)  # type: ignore[arg-type]

    monkeypatch.setattr(world, "gather", gather)
    result = world.run_fix()
    assert world.acts.count("play remedy/sysctl on h1") == 1
    assert [root.id for root in result.after.roots] == [IP]
    assert result.exit_status == 1


DOWN_TARGET = Judgement("st-target-down", CLUSTER, "failed")
COMING = Drift("monitoring", "targets", (CLUSTER,), Result("targets", "all up", "no node-exporter", passing=True))


@pytest.mark.parametrize(
    "answers_later",
    [
        {"verdict": Verdict((), (UnexplainedSymptom(DOWN_TARGET.id, (DOWN_TARGET,), (), (), (), ""),), ())},
        {"drift": (COMING,)},
    ],
    ids=["a symptom", "drift that passes"],
)
def test_what_shows_only_when_more_is_answered_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, answers_later: dict[str, Any]
) -> None:
    """Prometheus could not be asked while the fault was there, and a target is down for a moment still."""
    monkeypatch.setattr(module, "SYMPTOM_LIMIT", 1e9)
    world = World(FORWARD)
    real, looks = doctor.diagnose, iter([True, True])

    def diagnose(snapshot: Snapshot) -> Diagnosis:
        diagnosis = real(snapshot)
        if not any(text == "keep" for text in world.log) or not next(looks, False):
            return diagnosis
        return replace(diagnosis, **answers_later)

    monkeypatch.setattr(module, "diagnose", diagnose)
    result = world.run_fix()
    assert next(looks, None) is None
    assert (result.after.unexplained_symptoms, result.attempts[0].remaining) == ((), ())
    assert COMING not in result.after.drift

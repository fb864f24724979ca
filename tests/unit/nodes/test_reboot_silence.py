"""The silence of a reboot is tried again until Alertmanager takes it, and not after that."""

from types import SimpleNamespace
from typing import Any

import pytest

from gpustack.events import Event
from gpustack.nodes import reboot_silence
from gpustack.nodes.reboot_silence import RebootSilence

NO_ANSWER = "Nothing listens at Alertmanager"


@pytest.mark.parametrize(
    ("reasons", "attempts", "messages"),
    [
        ([""], 1, []),
        (
            [NO_ANSWER, NO_ANSWER, ""],
            3,
            [f"alerts of the reboot are not silenced yet: {NO_ANSWER}", "alerts of the reboot are silenced now"],
        ),
        ([NO_ANSWER, NO_ANSWER, NO_ANSWER, NO_ANSWER], 4, [f"alerts of the reboot are not silenced yet: {NO_ANSWER}"]),
    ],
)
def test_a_silence_is_tried_again_until_it_is_taken(
    reasons: list[str], attempts: int, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, events, answers = list[Any](), list[Event](), iter(reasons)

    def create_silence(run: Any, nodes: list[str], seconds: float, test: str) -> str:
        requests.append((nodes, seconds, test))
        return next(answers)

    monkeypatch.setattr(reboot_silence, "create_silence", create_silence)
    run: Any = SimpleNamespace(record=events.append)
    silence = RebootSilence("gpu1", 600)
    silence.begin(run)
    for _ in range(3):
        silence.repeat(run)
    assert requests == [(["gpu1"], 600, "reboot")] * attempts
    assert [event.message for event in events] == messages


def test_a_reboot_that_only_continues_makes_no_second_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = list[Any]()
    monkeypatch.setattr(reboot_silence, "create_silence", lambda *words: requests.append(words))
    run: Any = SimpleNamespace(record=None)
    RebootSilence("gpu1", 600).repeat(run)
    assert requests == []

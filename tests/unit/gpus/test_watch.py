import pytest

from gpustack.gpus.activity import Activity
from gpustack.report.gpus.watch import watch_activity
from tests.worlds.prometheus.gpu_series import make_working_gpus


def test_it_is_drawn_again_until_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    questions: list[int] = []
    sleeps: list[float] = []

    def ask() -> Activity:
        questions.append(1)
        if len(questions) == 3:
            raise KeyboardInterrupt
        return make_working_gpus()

    monkeypatch.setattr("time.sleep", sleeps.append)
    watch_activity(ask, 5, pods=True)
    assert sleeps == [5, 5]
    assert "team-a/train-0" in capsys.readouterr().out

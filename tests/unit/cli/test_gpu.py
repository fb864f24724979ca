"""`gpustack gpu` as typed."""

import json
from itertools import chain
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.gpu.commands import app
from gpustack.errors import MissingDataError, UsageError
from gpustack.gpus.activity import FIELDS as ACTIVITY
from gpustack.gpus.fleet import FIELDS
from gpustack.metrics.prometheus import Prometheus, Series
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series

ADDRESS = ("--prometheus", "http://prometheus.example.org")


@pytest.fixture
def prometheuses(monkeypatch: pytest.MonkeyPatch) -> list[Prometheus]:
    """A Prometheus with three GPUs, in a list of all that were asked."""
    prometheuses: list[Prometheus] = []

    def answer(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        prometheuses.append(self)
        if expr.startswith("kube_node_labels"):
            return ()
        assert all(f"|{name}" in expr or f'"{name}' in expr for name in (FIELDS if "ECC" in expr else ACTIVITY))
        l4 = {"modelName": "NVIDIA L4", "exported_namespace": "team-a", "exported_pod": "train-0"}
        gpus = [
            build_gpu_series("gpu1", 0, **BUSY),
            build_gpu_series("gpu1", 1, **BUSY),
            build_gpu_series("gpu2", 0, l4, **BUSY),
        ]
        return tuple(chain(*gpus))

    monkeypatch.setattr(Prometheus, "query_instant", answer)
    monkeypatch.setattr(Prometheus, "fetch_time", lambda _: 1010.0)
    return prometheuses


def run_gpu(*words: str, verb: str = "list") -> str:
    result = CliRunner().invoke(app, [verb, *ADDRESS, *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_fleet_is_listed(prometheuses: list[Prometheus]) -> None:
    lines = run_gpu().splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("gpu")] == [
        ["gpu1", "0"],
        ["gpu1", "1"],
        ["gpu2", "0"],
    ]
    assert len(prometheuses) == 2  # the values, and how nodes share GPUs


def test_gpus_are_selected_by_node_and_model(prometheuses: list[Prometheus]) -> None:
    document = json.loads(run_gpu("--node", "gpu1", "-o", "json"))
    assert [gpu["index"] for gpu in document["gpus"]] == ["0", "1"]
    assert len(run_gpu("--model", "l4", "-o", "csv").splitlines()) == 2


def test_the_login_comes_from_files(prometheuses: list[Prometheus], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    words = ("--token-file", str(tmp_path / "token"), "--tenant", "team", "-o", "json")
    assert "secret" not in run_gpu(*words)
    assert (prometheuses[0].access.token, prometheuses[0].access.tenant) == ("secret", "team")


def test_basic_authentication_comes_from_a_file(prometheuses: list[Prometheus], tmp_path: Path) -> None:
    (tmp_path / "login").write_text("user:sec:ret\n")
    assert "sec:ret" not in run_gpu("--basic-auth-file", str(tmp_path / "login"), "-o", "json")
    assert prometheuses[0].access.login == "user:sec:ret"


@pytest.mark.parametrize(
    ("login", "words"), [("hunter2", ()), ("user:pass", ("--token-file", "/dev/null")), ("a:b\nc", ())]
)
def test_a_login_that_cannot_be_used_is_refused_without_it(login: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "login").write_text(login)
    result = CliRunner().invoke(app, ["list", *ADDRESS, "--basic-auth-file", str(tmp_path / "login"), *words])
    assert isinstance(result.exception, UsageError)
    assert result.exception.reference == "prometheus-file"
    assert login not in f"{result.exception.message} {result.exception.reason}"


@pytest.mark.parametrize("option", ["--token-file", "--basic-auth-file", "--client-certificate", "--ca-file"])
def test_a_file_that_cannot_be_read_is_refused(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["list", *ADDRESS, option, str(tmp_path / "none")])
    assert isinstance(result.exception, UsageError)
    assert result.exception.reference == "prometheus-file"


def test_a_prometheus_without_gpus_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_: ())
    result = CliRunner().invoke(app, ["list", *ADDRESS])
    assert isinstance(result.exception, MissingDataError)
    assert result.exception.reference == "gpu-no-series"


@pytest.mark.parametrize("words", [("--node", "gpu2"), ("--namespace", "team-a"), ("--pod", "train-0")])
def test_activity_is_selected_by_node_namespace_and_pod(prometheuses: list[Prometheus], words: tuple[str, ...]) -> None:
    document = json.loads(run_gpu(*words, "-o", "json", verb="top"))
    assert [(gpu["node"], gpu["sm_ratio"]) for gpu in document["gpus"]] == [("gpu2", 0.85)]


def test_without_a_terminal_it_is_printed_once(prometheuses: list[Prometheus], monkeypatch: pytest.MonkeyPatch) -> None:
    # The server's clock is a request more; only `list` shows ages.
    monkeypatch.delattr(Prometheus, "fetch_time")
    assert "team-a/train-0" in run_gpu("pods", verb="top")
    assert len(prometheuses) == 1


@pytest.mark.parametrize("word", ["team", "team=", "=a", "a b=c", "te-am=a"])
def test_what_is_no_label_is_refused(prometheuses: list[Prometheus], word: str) -> None:
    result = CliRunner().invoke(app, ["top", *ADDRESS, "--label", word])
    assert result.exit_code == 2
    assert not prometheuses


def test_activity_is_selected_by_a_label(prometheuses: list[Prometheus]) -> None:
    assert "team-a" in run_gpu("--label", "modelName=NVIDIA L4", verb="top")


def test_an_unknown_order_is_refused(prometheuses: list[Prometheus]) -> None:
    result = CliRunner().invoke(app, ["top", *ADDRESS, "--sort", "name"])
    assert result.exit_code == 2
    assert "node, engine, sm" in " ".join(result.output.split())


@pytest.mark.parametrize("content", ["", "zzz1\nzzz2", "zzz\u00e9"])
def test_a_token_of_several_lines_is_refused_and_not_shown(content: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(content)
    result = CliRunner().invoke(app, ["list", *ADDRESS, "--token-file", str(tmp_path / "token")])
    assert isinstance(result.exception, UsageError)
    assert not content or content[:3] not in f"{result.exception.message} {result.exception.reason}"

"""Commands write what they asked a Prometheus, and print the same from that file without one."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.health.sources import HEARD_QUERY, UNREADY_QUERY
from gpustack.metrics.recording import find_range
from tests.unit.cli.test_prometheus_without_numbers import COMMANDS, LABELS, make_uniform_prometheus
from tests.worlds.programs.web import serve_answers

RECORDED_COMMANDS = {words: COMMANDS[words] for words in COMMANDS if not words.startswith(("autoscale", "profile"))}
# A login in a label, in a form that docs/secrets.md lists.
SECRET = "hunter2hunter2"


@pytest.fixture
def address() -> Iterator[str]:
    """Serve a Prometheus that has 0.5 of everything."""

    labels = LABELS | {"annotation": f"password={SECRET}"}
    with serve_answers(make_uniform_prometheus("0.5", labels)) as url:
        yield url


def run(words: str, *options: str) -> Result:
    return CliRunner().invoke(app, [*words.split(), *RECORDED_COMMANDS[words], *options])


def describe(result: Result) -> tuple[str, int, str]:
    error = result.exception
    words = f"{error.reference} {error.message}" if isinstance(error, GpustackError) else ""
    return result.stdout, result.exit_code, words


@pytest.mark.parametrize("output", ["human", "json"])
@pytest.mark.parametrize("words", RECORDED_COMMANDS)
def test_a_recording_prints_what_the_prometheus_did(words: str, output: str, address: str, tmp_path: Path) -> None:
    """An error is printed again, too: that is what a recording is sent for."""
    path = tmp_path / "queries"
    live = run(words, "--prometheus", address, "-o", output, "--record", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert SECRET not in path.read_text()
    assert describe(run(words, "--from", str(path), "-o", output)) == describe(live)
    assert live.stdout or live.exception, "there is something to compare"


def test_prices_come_from_the_recording(address: str, tmp_path: Path) -> None:
    path, inventory = tmp_path / "queries", tmp_path / "hosts.yml"
    spec = {"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}}
    groups: dict[str, object] = {"kube_control_plane": {"hosts": {"kube1": {}}}, "kube_node": {"hosts": {"kube2": {}}}}
    inventory.write_text(json.dumps({"all": {"vars": {"gpustack": spec}, "children": groups}}))
    live = run("cost report", "--prometheus", address, "-i", str(inventory), "--record", str(path))
    assert not isinstance(live.exception, GpustackError), live.exception
    assert "EUR" in live.stdout
    assert run("cost report", "--from", str(path)).stdout == live.stdout


def test_a_query_that_was_not_recorded_has_no_answer(address: str, tmp_path: Path) -> None:
    path = tmp_path / "queries"
    run("gpu list", "--prometheus", address, "--record", str(path))
    error = run("gpu metrics", "--from", str(path)).exception
    assert isinstance(error, GpustackError)
    assert (error.reference, error.code) == ("metrics-recording", 8)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (HEARD_QUERY, "Which GPUs sent values within a day is unknown: the recording is of another release"),
        (
            UNREADY_QUERY,
            "Which nodes are Ready, and so what kubelets offer, is unknown: the recording is of another release",
        ),
    ],
)
def test_a_recording_of_an_older_release_says_what_it_lacks(
    query: str, sentence: str, address: str, tmp_path: Path
) -> None:
    """Releases before had one query fewer."""
    path = tmp_path / "queries"
    live = json.loads(run("gpu health", "--prometheus", address, "-o", "json", "--record", str(path)).stdout)
    form = urlencode({"query": query})
    lines = path.read_text().splitlines(keepends=True)
    older_lines = [line for line in lines if form not in json.loads(line).get("form", "")]
    assert len(older_lines) == len(lines) - 1
    path.write_text("".join(older_lines))
    document = json.loads(run("gpu health", "--from", str(path), "-o", "json").stdout)
    assert any(doubt.startswith(sentence) for doubt in document["warnings"])
    assert [gpu["uuid"] for gpu in document["gpus"]] == [gpu["uuid"] for gpu in live["gpus"]]


def test_a_report_of_another_time_is_told_the_recorded_one() -> None:
    result = CliRunner().invoke(app, ["capacity", "report", "--since", "7d", "--from", "examples/usage/capacity.jsonl"])
    assert isinstance(result.exception, GpustackError)
    last = "That one asked for 2026-10-30 22:00 to 2026-11-29 22:00 UTC, 720h."
    assert result.exception.reason.splitlines()[-1] == last


@pytest.mark.parametrize("form", ["start=x&end=1&step=1", "start=1", "end=1&step=2", "start=99999999999&end=1&step=1"])
def test_a_form_without_times_has_no_range(form: str) -> None:
    assert find_range(form) is None


HEADER = '{"schema":"gpustack/queries/v1","url":"http://p","spec":{"capacity":{},"cost":{}}}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "line 1: expected JSON"),
        ("{}\n", "line 1: it has no schema, and this release reads gpustack/queries/v1"),
        ("[]\n", "line 1: expected a mapping"),
        (
            HEADER.replace("/v1", "/v0"),
            "line 1: its schema is gpustack/queries/v0, and this release reads gpustack/queries/v1",
        ),
        (HEADER.replace("http://p", "p"), "p"),
        (HEADER.replace('"http://p"', "1"), "line 1: url: expected a text"),
        (
            HEADER.replace('"cost":{}', '"cost":{"prices":1}'),
            "line 1: spec: expected the sections capacity and cost of a spec",
        ),
        (HEADER + '{"path":1}\n', "line 2: path: expected a text"),
        (HEADER + '{"path":"', "line 2: the file is cut off in this line"),
        (HEADER[:-9], "line 1: the file is cut off in this line"),
        (
            HEADER.replace("queries/v1", "recording/v2"),
            "`gpustack snapshot` wrote it, for commands such as `gpustack doctor`",
        ),
        ('{\n "schema":"gpustack/profile/v2"}', "`gpustack profile record` wrote it, for commands such as"),
        ("\x1f\udc8b\x08", "it is compressed: unpack it with `gunzip` first"),
        (HEADER + "\n", "line 2: expected JSON"),
        (HEADER + "[1]\n", "line 2: expected a mapping"),
        (
            HEADER + '{"path":"","form":"","body":"","status":"ok"}\n',
            "line 2: status: expected a number from 100 to 599",
        ),
        (HEADER + '{"path":"h\udcf6st"}\n', "line 2: expected JSON"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "queries"
    path.write_bytes(content.encode(errors="surrogateescape"))
    error = run("gpu list", "--from", str(path)).exception
    assert isinstance(error, GpustackError)
    assert (error.reference, error.code) == ("metrics-recording", 2)
    assert reason in error.reason


def test_two_sources_are_refused(address: str, tmp_path: Path) -> None:
    result = run("gpu list", "--from", str(tmp_path / "queries"), "--prometheus", address)
    assert result.exit_code == 2

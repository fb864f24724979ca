"""Commands that read a Prometheus end with the status of docs/exit-codes.md: 8 without data or with a part of them,
and 4 where no server answers.

The answers are made here: a Prometheus of nothing, and a Thanos one of whose stores is missing.
"""

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.exit_status import ExitStatus
from tests.unit.cli.test_prometheus_without_numbers import COMMANDS, MOMENT
from tests.worlds.programs.web import Answer, make_success, serve_answers

RECORD_OPTIONS = ("--node", "n1", "--for", "1s", "--out", "x.json")
ALL_COMMANDS = {
    **COMMANDS,
    "cost report": ("--since", "2h", "-i", "site"),
    "gpu health": (),
    "profile record": RECORD_OPTIONS,
    "profile baseline": RECORD_OPTIONS,
}
SPEC = {"gpustack": {"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}}}
every_command = pytest.mark.parametrize("words", ALL_COMMANDS)


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an inventory with prices, without which there is no bill."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site/group_vars/all").mkdir(parents=True)
    host = {"hosts": {"kube1": {"ansible_host": "192.0.2.1"}}}
    (tmp_path / "site/hosts.yml").write_text(yaml.safe_dump({"kube_control_plane": host, "kube_node": host}))
    (tmp_path / "site/group_vars/all/gpustack.yml").write_text(yaml.safe_dump(SPEC))


def run_command(words: str, address: str) -> int:
    arguments = [*words.split(), *ALL_COMMANDS[words], "--prometheus", address, "-q"]
    result = CliRunner().invoke(app, arguments)
    return result.exception.code if isinstance(result.exception, GpustackError) else result.exit_code


def answer_nothing(path: str, form: dict[str, str], headers: dict[str, str], **fields: object) -> tuple[int, bytes]:
    """Answer as a Prometheus that knows the time, and has no series."""
    if path.endswith("/stores"):
        return 404, b"404 page not found"
    if path.endswith("/metadata"):
        return make_success({})
    if form.get("query") == "time()":
        return make_success({"resultType": "scalar", "result": [MOMENT, str(MOMENT)]})
    kind = "matrix" if "start" in form or form["query"].endswith("]") else "vector"
    return make_success({"resultType": kind, "result": []}, **fields)


def answer_in_part(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
    return answer_nothing(path, form, headers, warnings=["receive series from store-1: connection refused"])


@every_command
@pytest.mark.parametrize("answer", [answer_nothing, answer_in_part])
def test_missing_data_are_unknown(words: str, answer: Answer) -> None:
    with serve_answers(answer) as address:
        assert run_command(words, address) == ExitStatus.UNKNOWN


@every_command
def test_a_server_that_does_not_answer_is_unreachable(words: str) -> None:
    assert run_command(words, "http://127.0.0.1:9") == ExitStatus.UNREACHABLE


def test_each_command_that_reads_a_prometheus_is_tried() -> None:
    """`serve` goes on without data, and answers its readers with the reason. `remediate` and `care` change
    nodes, and tests/unit/cli/test_remediate.py and test_care.py have nodes for them."""
    surface = (Path(__file__).parents[3] / "docs" / "surface.txt").read_text()
    names = set(re.findall(r"(?m)^option gpustack (.+) --prometheus$", surface))
    assert names - {"serve", "remediate", "care"} == set(ALL_COMMANDS)

"""Commands that read a Prometheus whose values are no numbers end with a status for it, not with an internal error.

The answers are made here: no Prometheus answers them to these queries.
"""

import re
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.exit_status import ExitStatus
from tests.worlds.programs.web import Answer, make_success, serve_answers

MOMENT = 1_790_000_000
LABELS = {
    "__name__": "DCGM_FI_DEV_GPU_UTIL",
    "UUID": "GPU-a",
    "gpu": "0",
    "Hostname": "n1",
    "modelName": "NVIDIA H100",
    "node": "n1",
    "job": "dcgm",
    "namespace": "t",
    "pod": "p",
    "uid": "1",
    "resource": "nvidia_com_gpu",
    "team": "vision",
    "key": "k",
    "owner_kind": "StatefulSet",
    "owner_name": "train",
    "exported_namespace": "t",
    "exported_pod": "p",
}
COMMANDS = {
    "gpu health": (),
    "gpu metrics": (),
    "gpu list": (),
    "gpu top": ("--once",),
    "capacity report": ("--since", "2h"),
    "capacity forecast": ("--history", "14d"),
    "cost report": ("--since", "2h"),
    "autoscale suggest": ("--pod", "t/p"),
    "profile analyze": ("--pod", "t/p"),
}


def make_uniform_prometheus(text: str, labels: dict[str, str]) -> Answer:
    """Make a Prometheus that knows the time, and has one series with this value for every other query."""

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        if path.endswith("/stores"):
            return 404, b"404 page not found"
        if path.endswith("/metadata"):
            return make_success({})
        if form.get("query") == "time()":
            return make_success({"resultType": "scalar", "result": [MOMENT, str(MOMENT)]})
        if "start" not in form and not form["query"].endswith("]"):
            return make_success({"resultType": "vector", "result": [{"metric": labels, "value": [MOMENT, text]}]})
        values = [[moment, text] for moment in range(MOMENT - 3600, MOMENT, 60)]
        return make_success({"resultType": "matrix", "result": [{"metric": labels, "values": values}]})

    return answer


@pytest.fixture(params=["NaN", "+Inf", "-Inf", "1e300", "-1e300", "-5", "4294967295", "5e-324"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Serve a Prometheus that knows the time, and whose other values are all the same: no number, or an impossible
    one."""

    with serve_answers(make_uniform_prometheus(request.param, LABELS)) as url:
        yield url


@pytest.mark.parametrize("output", ["human", "json"])
@pytest.mark.parametrize("words", COMMANDS)
def test_values_that_are_no_numbers_are_reported(words: str, output: str, address: str) -> None:
    arguments = [*words.split(), *COMMANDS[words], "--prometheus", address, "-o", output]
    result = CliRunner().invoke(app, arguments)
    error = result.exception
    code = error.code if isinstance(error, (GpustackError, SystemExit)) else 0 if error is None else ExitStatus.BUG
    assert code not in (ExitStatus.BUG, ExitStatus.WRONG_USAGE), (error, result.output)


def test_metrics_whose_count_is_no_number_are_listed_without_it(address: str) -> None:
    result = CliRunner().invoke(app, ["gpu", "metrics", "--prometheus", address])
    assert result.exit_code == 0
    assert re.search(r"DCGM_FI_DEV_GPU_UTIL  (-|0) ", result.stdout)

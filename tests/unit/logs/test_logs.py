"""Log lines of a training job: valid JSON whatever is logged, at once, and unknown where nothing answers."""

import json
import logging
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.vocabulary.fields import find_fields, find_original, is_ambiguous, list_spellings
from gpustack.vocabulary.units import find_unit
from gpustack_logs import METRICS, GpuFilter, JsonFormatter, Sampler, Unknown, read_exporter

POD = 'pod="train-0",namespace="team-a",container="main"'
FIELDS = {"utilization_ratio": "GPU_UTIL", "memory_used_bytes": "FB_USED"}
FIELDS |= {"memory_total_bytes": "FB_TOTAL", "temperature_celsius": "GPU_TEMP"}


def format_exposition(uuid: str = "GPU-a", labels: str = POD, **values: object) -> str:
    """Format metrics as dcgm-exporter's README shows them."""
    return "".join(
        f'# TYPE {name} gauge\n{name}{{gpu="0",UUID="{uuid}",modelName="NVIDIA H100",{labels}}} {value}\n'
        for name, value in {f"DCGM_FI_DEV_{name}": value for name, value in values.items()}.items()
    )


TEXT = format_exposition(GPU_UTIL=85, FB_USED=1000, FB_TOTAL=81559, GPU_TEMP=40)


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TEXT.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def exporter() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()


@pytest.fixture(autouse=True)
def pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "train-0")
    for name in ("POD_NAMESPACE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


def wait_for_sample(sampler: Sampler, reason: str | None) -> dict[str, Any]:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        sample = sampler.read()
        if sample["reason"] == reason or (reason and sample["reason"] and reason in sample["reason"]):
            return sample
        time.sleep(0.02)
    raise AssertionError(sampler.read())


def log_line(sampler: Sampler, message: object, arguments: tuple[object, ...], **options: Any) -> dict[str, Any]:
    record = logging.LogRecord("train", logging.INFO, "train.py", 1, message, arguments, None)
    vars(record).update(options)
    text = JsonFormatter(sampler).format(record)
    assert "\n" not in text
    loads: dict[str, Any] = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return loads


def test_a_line_has_the_sample_of_this_pods_gpu(exporter: str) -> None:
    sampler = Sampler(exporter, interval=60)
    wait_for_sample(sampler, None)
    line = log_line(sampler, "step %d", (3,), loss=2.5)
    assert (line["message"], line["loss"], line["level"]) == ("step 3", 2.5, "INFO")
    assert 0 <= line["gpu"].pop("age_seconds") < 30
    assert line["gpu"] == {
        "source": "exporter",
        "reason": None,
        "gpus": [
            {
                "uuid": "GPU-a",
                "instance": None,
                "utilization_ratio": 0.85,
                "memory_used_bytes": 1000 * 2**20,
                "memory_total_bytes": 81559 * 2**20,
                "temperature_celsius": 40,
                "unknown": {},
            }
        ],
    }


def test_the_filter_gives_it_to_other_formatters(exporter: str) -> None:
    sampler = Sampler(exporter, interval=60)
    wait_for_sample(sampler, None)
    record = logging.makeLogRecord({"msg": "x"})
    assert GpuFilter(sampler).filter(record)
    assert vars(record)["gpu"]["gpus"][0]["uuid"] == "GPU-a"


def test_an_exporter_that_hangs_delays_no_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sampler = Sampler(f"http://127.0.0.1:{silent.getsockname()[1]}/metrics", interval=60)
        start = time.monotonic()
        assert log_line(sampler, "x", ())["gpu"]["gpus"] is None
        assert time.monotonic() - start < 1
        wait_for_sample(sampler, "the exporter did not answer: ")


@pytest.mark.parametrize("address", ["127.0.0.1:9400", "file:///etc/passwd", "http://127.0.0.1:x/", "http://[", ""])
def test_an_address_that_is_none_is_a_reason(address: str) -> None:
    sampler = Sampler(address, interval=60)
    end = time.monotonic() + 20
    while sampler.read()["reason"] == "not sampled yet" and time.monotonic() < end:
        time.sleep(0.02)
    sample = sampler.read()
    assert sample["gpus"] is None
    assert sample["reason"] != "not sampled yet"


def test_an_old_sample_is_not_that_of_now(exporter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(exporter, interval=60)
    wait_for_sample(sampler, None)
    later = time.monotonic() + 600
    monkeypatch.setattr(time, "monotonic", lambda: later)
    sample = sampler.read()
    assert sample["gpus"] is None
    assert "does not answer" in sample["reason"]


def parse_sample(text: str, uuids: tuple[str, ...] = ()) -> dict[str, Any]:
    (exporter_sample,) = read_exporter(text, uuids)
    return exporter_sample


@pytest.mark.parametrize("value", ["NaN", "9223372036854775794", "2147483632", "-1", "+Inf", "x"])
def test_a_blank_value_is_unknown_and_not_0(value: str) -> None:
    sample = parse_sample(format_exposition(GPU_UTIL=value, FB_USED=value, GPU_TEMP=value))
    assert [sample[name] for name in FIELDS] == [None] * 4
    assert set(sample["unknown"]) == set(FIELDS)


def test_gpus_of_other_pods_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    other_exposition = format_exposition("GPU-b", POD.replace("train-0", "serve-0"), GPU_UTIL=1)
    assert parse_sample(TEXT + other_exposition)["uuid"] == "GPU-a"
    assert parse_sample(TEXT + other_exposition, ("GPU-b",))["utilization_ratio"] == 0.01
    twin = format_exposition("GPU-c", POD.replace("team-a", "team-b"), GPU_UTIL=1)
    with pytest.raises(Unknown, match="set POD_NAMESPACE"):
        read_exporter(TEXT + twin, ())
    monkeypatch.setenv("POD_NAMESPACE", "team-b")
    assert parse_sample(TEXT + twin)["uuid"] == "GPU-c"


def test_a_mig_instance_is_a_line_of_its_own() -> None:
    part = format_exposition(labels=f'GPU_I_ID="7",{POD}', FB_USED=1)
    assert [exporter_sample["instance"] for exporter_sample in read_exporter(TEXT + part, ())] == ["7", None]


@given(st.text(), st.sampled_from(["", TEXT, "<html>"]), st.integers(0, 400))
def test_no_text_of_an_exporter_breaks_it(noise: str, good: str, cut: int) -> None:
    for text in (noise, good[:cut] + noise + good[cut:]):
        with suppress(Unknown):
            assert read_exporter(text, ("GPU-",))


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


QUIET = Sampler("none", interval=3600)
CYCLE: list[object] = []
CYCLE.append(CYCLE)
values = st.recursive(
    st.none()
    | st.text()
    | st.floats()
    | st.binary()
    | st.builds(Unprintable)
    | st.sampled_from([{1j: 1}, CYCLE, set()]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.text() | st.builds(Unprintable), st.tuples() | st.tuples(values), values)
def test_whatever_is_logged_is_a_line_of_json(message: object, arguments: tuple[object, ...], extra: object) -> None:
    assert "extra" in log_line(QUIET, message, arguments, extra=extra)


def test_nan_of_a_loss_is_its_text() -> None:
    assert log_line(QUIET, "x", (), loss=math.nan, level="mine")["loss"] == "nan"


def test_an_exception_stands_in_the_line() -> None:
    try:
        raise ValueError("out of memory")
    except ValueError as error:
        line = log_line(QUIET, "x", (), exc_info=(ValueError, error, error.__traceback__))
    assert line["exception"].endswith("ValueError: out of memory")


def test_metrics_are_those_of_the_table() -> None:
    """The metrics are in base units, without the name that two fields have."""
    names = {name for field in FIELDS.values() for name in list_spellings(frozenset([f"DCGM_FI_DEV_{field}"]))}
    assert set(METRICS) == {name for name in names if not is_ambiguous(name)}
    for name, (measure, factor, ceiling) in METRICS.items():
        (field,) = find_fields(name)
        unit = find_unit(field.unit)
        assert (factor, ceiling) == (unit.scale, unit.maximum)
        assert find_original(field).name == f"DCGM_FI_DEV_{FIELDS[measure]}"

"""JSON log lines of training jobs with utilisation, memory and temperature of their GPUs.

    handler.setFormatter(gpustack_logs.JsonFormatter())  # or, beside a formatter of yours: addFilter(GpuFilter())

The module needs the standard library of Python 3.9 alone, and may be copied as one file. A thread samples; a log call
reads the last sample, and neither waits nor fails. An unknown value is null, with the reason, never 0. NVML is called
as https://docs.nvidia.com/deploy/nvml-api/ describes it.
"""

from __future__ import annotations

import ctypes
import json
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

MEASURES = ("utilization_ratio", "memory_used_bytes", "memory_total_bytes", "temperature_celsius")
# Metrics of dcgm-exporter: the measure, its factor, the most that is no blank. As in gpustack/versions/dcgm-fields.csv,
# without DCGM_FI_DEV_GPU_UTIL_RATIO, which is 0 to 100 or 0 to 1.
METRICS = {
    "DCGM_FI_DEV_GPU_UTIL": ("utilization_ratio", 0.01, 105.0),
    "DCGM_FI_DEV_FB_USED": ("memory_used_bytes", 2**20, 1e9),
    "DCGM_FI_DEV_FB_USED_BYTES": ("memory_used_bytes", 1, 9.2e18),
    "DCGM_FI_DEV_FB_TOTAL": ("memory_total_bytes", 2**20, 1e9),
    "DCGM_FI_DEV_FB_CAPACITY_BYTES": ("memory_total_bytes", 1, 9.2e18),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_celsius", 1, 200.0),
    "DCGM_FI_DEV_GPU_TEMP_CELSIUS": ("temperature_celsius", 1, 200.0),
}
LINE = re.compile(r"^(DCGM_\w+)\{(.*)\}\s+(\S+)", re.MULTILINE)
LABEL = re.compile(r'(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"')
TIMEOUT, MOST_BYTES = 2.0, 16 * 2**20  # seconds; of an answer
USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class Unknown(Exception):
    """Say why a value is unknown."""


class Sampler:
    """Sample GPUs every `interval` seconds, in a thread of its own: by NVML, or from the text of dcgm-exporter at the
    URL `exporter`. `uuids` limits the GPUs; by default those of CUDA_VISIBLE_DEVICES are sampled where it names UUIDs,
    else all that NVML shows, and of an exporter those of this pod (POD_NAME, or the host's name; POD_NAMESPACE)."""

    def __init__(self, exporter: str = "", uuids: Iterable[str] = (), interval: float = 5.0) -> None:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        self.exporter, self.interval = exporter, interval
        self.uuids = tuple(uuids) or tuple(word.strip() for word in visible if word.strip().startswith("GPU-"))
        self._nvml: Nvml | None = None
        self._start()

    def read(self) -> dict[str, Any]:
        """Read the last sample: `source`, `age_seconds`, `reason`, and `gpus`, which is null where there is a reason.
        Each GPU has `uuid`, `instance` (of MIG), MEASURES, and in `unknown` the reason for each that is null."""
        if self._pid != os.getpid():
            self._start()  # threads do not survive a fork
        sampled_at, gpus, reason = self._last
        age = time.monotonic() - sampled_at
        if reason is None and age > 3 * self.interval + TIMEOUT:
            gpus, reason = None, f"the last sample is {age:.0f} s old: the source does not answer"
        source = "exporter" if self.exporter else "nvml"
        return {"source": source, "age_seconds": round(age, 3), "reason": reason, "gpus": gpus}

    def _start(self) -> None:
        self._pid, self._nvml = os.getpid(), None
        self._last: tuple[float, list[dict[str, Any]] | None, str | None] = (time.monotonic(), None, "not sampled yet")
        try:
            threading.Thread(target=self._run, name="gpustack_logs", daemon=True).start()
        except RuntimeError as error:
            self._last = (time.monotonic(), None, str(error))

    def _run(self) -> None:
        while True:
            gpus, reason = None, None
            try:
                gpus = list(self._read_gpus()) or None
                reason = None if gpus else "NVML shows no GPU of this job"
            except Exception as error:  # noqa: BLE001 - whatever it is, the job goes on, and its logs say it
                self._nvml = None
                reason = str(error) or type(error).__name__
            self._last = (time.monotonic(), gpus, reason)
            time.sleep(self.interval)

    def _read_gpus(self) -> Iterable[dict[str, Any]]:
        if self.exporter:
            return read_exporter(fetch_metrics(self.exporter), self.uuids)
        self._nvml = self._nvml or Nvml()
        return (gpu for gpu in self._nvml.read() if not self.uuids or matches_uuid(gpu["uuid"], self.uuids))


def matches_uuid(uuid: str | None, uuids: tuple[str, ...]) -> bool:
    """Tell whether a UUID begins with one of these, as CUDA compares them. A GPU that does not say its own may be
    any."""
    return uuid is None or uuid.startswith(uuids)


def describe_gpu(readings: dict[str, Any], unknown: dict[str, str]) -> dict[str, Any]:
    return {**{name: readings.get(name) for name in ("uuid", "instance", *MEASURES)}, "unknown": unknown}


class Memory(ctypes.Structure):
    """Mirror nvmlMemory_v2_t of drivers since 510: the driver's own reservation is not in `used`."""

    _fields_ = (("version", c_uint), *((name, c_ulonglong) for name in ("total", "reserved", "free", "used")))


class Nvml:
    """Call the driver's library. Raise OSError where it is missing, Unknown where it refuses."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.library.nvmlErrorString.restype = ctypes.c_char_p
        self.call("nvmlInit_v2")

    def call(self, name: str, *arguments: Any) -> None:
        try:
            code = getattr(self.library, name)(*arguments)
        except AttributeError:
            raise Unknown(f"{name}: not in this driver") from None
        if code:
            text = self.library.nvmlErrorString(code) or b"error"
            raise Unknown(f"{name}: {text.decode(errors='replace')} ({code})")

    def read(self) -> Iterator[dict[str, Any]]:
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        for index in range(count.value):
            yield self.read_gpu(index)

    def read_gpu(self, index: int) -> dict[str, Any]:
        readings: dict[str, Any] = {}
        unknown: dict[str, str] = {}
        for names, ask in (
            (("uuid",), self.read_uuid),
            (MEASURES[:1], self.read_utilization),
            (MEASURES[1:3], self.read_memory),
            (MEASURES[3:], self.read_temperature),
        ):
            values, reason = try_reading(ask, index)
            readings.update(zip(names, values))
            unknown.update(dict.fromkeys(names, reason) if reason else {})
        return describe_gpu(readings, unknown)

    def open_gpu(self, index: int) -> c_void_p:
        gpu = c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", index, byref(gpu))
        return gpu

    def read_uuid(self, index: int) -> tuple[str]:
        text = ctypes.create_string_buffer(96)
        self.call("nvmlDeviceGetUUID", self.open_gpu(index), text, c_uint(len(text)))
        return (text.value.decode(errors="replace"),)

    def read_utilization(self, index: int) -> tuple[float]:
        rates = (c_uint * 2)()
        self.call("nvmlDeviceGetUtilizationRates", self.open_gpu(index), rates)
        return (rates[0] / 100,)

    def read_memory(self, index: int) -> tuple[int, int]:
        memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
        self.call("nvmlDeviceGetMemoryInfo_v2", self.open_gpu(index), byref(memory))
        return memory.used, memory.total

    def read_temperature(self, index: int) -> tuple[int]:
        degrees = c_uint()
        self.call("nvmlDeviceGetTemperature", self.open_gpu(index), 0, byref(degrees))
        return (degrees.value,)


def try_reading(ask: Callable[[int], tuple[Any, ...]], index: int) -> tuple[tuple[Any, ...], str]:
    try:
        return ask(index), ""
    except Unknown as error:
        return (), str(error)


def fetch_metrics(url: str) -> str:
    """Fetch the text of an exporter without proxies and redirects. Raise Unknown."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unknown("the exporter's address is not http://HOST:PORT/metrics")
    connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(
        parts.hostname, parts.port, timeout=TIMEOUT
    )
    try:
        connection.request("GET", parts.path or "/metrics")
        answer = connection.getresponse()
        if answer.status != 200:
            raise Unknown(f"the exporter answers with HTTP {answer.status}")
        return answer.read(MOST_BYTES).decode(errors="replace")
    except (OSError, HTTPException) as error:
        raise Unknown(f"the exporter did not answer: {str(error) or type(error).__name__}") from None
    finally:
        connection.close()


def read_exporter(text: str, uuids: tuple[str, ...]) -> list[dict[str, Any]]:
    """Read GPUs and MIG instances by UUID or by this pod. Raise Unknown for none, and where one may be of another
    pod."""
    pod, namespace = os.environ.get("POD_NAME") or os.uname().nodename, os.environ.get("POD_NAMESPACE")
    gpus: dict[tuple[str, str | None], dict[str, float]] = {}
    spaces = set()
    for name, label_text, value in LINE.findall(text):
        labels = dict(LABEL.findall(label_text))
        uuid, space = labels.get("UUID") or labels.get("uuid"), labels.get("namespace", "")
        if not uuid or not (uuid.startswith(uuids) if uuids else labels.get("pod") == pod):
            continue
        if not uuids and namespace not in (None, space):
            continue
        spaces.add(space)
        readings = gpus.setdefault((uuid, labels.get("GPU_I_ID") or None), {})
        if name in METRICS:
            measure, factor, maximum = METRICS[name]
            if (number := parse_number(value)) is not None and 0 <= number <= maximum:
                readings[measure] = number * factor
    if not gpus:
        raise Unknown(f"the exporter names no GPU of {' or '.join(uuids) or f'pod {pod}'}")
    if not uuids and len(spaces) > 1:
        raise Unknown(f"pods named {pod} in {', '.join(sorted(spaces))} have GPUs here: set POD_NAMESPACE")
    reason = "the exporter prints no value"
    return [
        describe_gpu(
            {**gpu_readings, "uuid": uuid, "instance": instance},
            {name: reason for name in MEASURES if name not in gpu_readings},
        )
        for (uuid, instance), gpu_readings in sorted(gpus.items(), key=str)
    ]


def parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class GpuFilter(logging.Filter):
    """Let every record pass, with the last sample as `record.gpu`."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        super().__init__()
        self.sampler = sampler or Sampler()

    def filter(self, record: logging.LogRecord) -> bool:
        record.gpu = self.sampler.read()
        return True


class JsonFormatter(logging.Formatter):
    """Format a record as one line: `time`, `level`, `logger`, `message`, the fields of `extra`, `exception`, and the
    last sample as `gpu`."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        super().__init__()
        self.sampler = sampler or Sampler()

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": format_message(record),
            "gpu": self.sampler.read(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        extra_fields = {name: value for name, value in vars(record).items() if name not in USUAL and name not in line}
        return json.dumps({**line, **{name: convert_to_json(value) for name, value in extra_fields.items()}})


def format_message(record: logging.LogRecord) -> str:
    """Format the message of a record. Arguments that do not fit the text are appended to it."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a __str__ of the job's
        return f"{convert_to_json(record.msg)} {convert_to_json(record.args)}"


def convert_to_json(value: Any) -> Any:
    """Convert a value to one that JSON can hold, or else to its text, as NaN and infinities of a loss."""
    try:
        json.dumps(value, allow_nan=False)
    except Exception:  # noqa: BLE001 - a type, a cycle, a depth
        try:
            return str(value)
        except Exception:  # noqa: BLE001
            return f"<{type(value).__name__}>"
    return value

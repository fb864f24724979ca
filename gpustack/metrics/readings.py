"""Readings, each the value of one field of one GPU in its base unit, with its time.

A value without a proven unit is no reading; a doubt says why.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.metrics.gpus import Gpu, Owner, extract_gpu, extract_owner, find_node, pick_label
from gpustack.metrics.prometheus import Series
from gpustack.vocabulary.fields import Field, convert_value, find_fields, find_original
from gpustack.vocabulary.labels import HOSTS
from gpustack.vocabulary.units import find_unit

PERCENT = ("%", "percent")
SHARE = re.compile(r"\bratio\b|\b0 ?(?:\.\.|-|to) ?1\b")
# Labels that make several series of one field of one GPU.
PART_LABELS = (
    "xid",
    "err_code",
    "clock_event",
    "health_watch",
    "health_error_code",
    "peer_gpu",
    "link_status",
    "vgpu",
    "hpc_job",
)


@dataclass(frozen=True)
class Reading:
    """Hold one value. `field` is the older one where several have the same meaning. `unit` is a base unit: ratio,
    bytes, watts, …; `time` is in seconds since 1970. `part` tells apart several values of one field, as an Xid by its
    code. `is_own` tells whether it is of the processes of its owner, and not of the GPU."""

    gpu: Gpu
    field: Field
    value: float
    unit: str
    time: float
    owner: Owner | None = None
    part: tuple[str, ...] = ()
    is_own: bool = False


Entry = tuple[Series, Reading]


@dataclass(frozen=True)
class Readings:
    """Hold the newest readings. `doubts` are sentences about series that are left out or are there twice."""

    newest: tuple[Reading, ...]
    doubts: tuple[str, ...] = ()


def build_readings(series_list: Iterable[Series], helps: Mapping[str, Sequence[str]]) -> Readings:
    """Build the newest reading of each field of each GPU. `helps` has the help texts of metrics whose name alone does
    not tell the field."""
    entries: list[Entry] = []
    targets: dict[tuple[str, str], set[str]] = {}
    doubts: dict[str, None] = {}
    for series in series_list:
        name, gpu = series.labels.get("__name__", ""), extract_gpu(series.labels)
        if gpu is None or not series.points:
            continue
        field = resolve_field(name, helps.get(name, ()))
        if field is None:
            doubts[f"{name}: its unit is not known, neither by its name nor by what the exporter says of it"] = None
            continue
        if not find_node(series.labels):
            host = pick_label(series.labels, HOSTS) or "no host"
            doubts[
                f"The exporter at {gpu.node} names {host} as its host and no node, so its target stands for the node; "
                "NODE_NAME of the exporter should be spec.nodeName"
            ] = None
        part = tuple(series.labels[key] for key in PART_LABELS if key in series.labels)
        reading = build_reading(series, field, gpu, part)
        if reading is None:
            continue
        targets.setdefault(gpu.key, set()).add(series.labels.get("job", ""))
        entries.append((series, reading))
    for jobs in sorted({tuple(sorted(jobs)) for jobs in targets.values() if len(jobs) > 1}):
        doubts[f"GPUs are scraped by {len(jobs)} jobs, {', '.join(jobs)}: each is counted once"] = None
    remaining_entries, own_readings = split_own_readings(entries)
    return Readings((*select_newest(remaining_entries), *own_readings), tuple(doubts))


def split_own_readings(entries: Iterable[Entry]) -> tuple[list[Entry], list[Reading]]:
    """Split the readings that pods have of their own from all others. Such a one has an owner, and the same target
    has one without an owner of the same GPU, field and time. Of several of a pod, as of its containers or slots, the
    highest counts: each has the value of the whole pod (internal/pkg/transformation/kubernetes.go of exporter
    4.8.2)."""
    whole_times: dict[tuple[object, ...], float] = {}
    for series, reading in entries:
        if reading.owner is None:
            source = identify_source(series, reading)
            whole_times[source] = max(reading.time, whole_times.get(source, 0.0))
    remaining_entries, own_readings = [], dict[tuple[object, ...], Reading]()
    for series, reading in entries:
        if reading.owner is None or reading.time != whole_times.get(identify_source(series, reading)):
            remaining_entries.append((series, reading))
            continue
        key = (*reading.gpu.key, reading.field, reading.owner.path)
        highest = own_readings.get(key)
        if highest is None or (highest.time, highest.value) < (reading.time, reading.value):
            own_readings[key] = replace(reading, is_own=True)
    return remaining_entries, [*own_readings.values()]


def identify_source(series: Series, reading: Reading) -> tuple[object, ...]:
    return (*reading.gpu.key, reading.field, series.labels.get("job", ""), series.labels.get("instance", ""))


def select_newest(entries: Iterable[Entry]) -> Iterable[Reading]:
    newest: dict[tuple[object, ...], Reading] = {}
    jobs_by_key: dict[tuple[object, ...], str] = {}
    for series, reading in entries:
        key = (*reading.gpu.key, reading.field, reading.part)
        previous_reading, job = newest.get(key), series.labels.get("job", "")
        if previous_reading is None:
            newest[key], jobs_by_key[key] = reading, job
            continue
        first, last = sorted((previous_reading, reading), key=lambda entry: entry.time)
        # Of two jobs, one may not map pods: what the other says of the owner counts.
        owner = last.owner or (first.owner if job != jobs_by_key[key] else None)
        newest[key], jobs_by_key[key] = replace(last, owner=owner), job if last is reading else jobs_by_key[key]
    return newest.values()


def build_reading(series: Series, field: Field, gpu: Gpu, part: tuple[str, ...]) -> Reading | None:
    """Build a reading. Return None where the newest value is blank: an older one is no longer true."""
    time, raw = series.points[-1]
    value = convert_value(field, raw)
    if value is None:
        return None
    unit = find_unit(field.unit).base
    return Reading(gpu, find_original(field), value, unit, time, extract_owner(series.labels), part)


def resolve_field(name: str, helps: Sequence[str]) -> Field | None:
    """Resolve the field of a metric. Where two have the name, the help texts decide, if all of them say one."""
    candidates = [field for field in find_fields(name) if name in field.spellings]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    scales = {unit for text in helps for unit in find_scales(text)} if helps else set()
    fitting = [candidate for candidate in candidates if scales == {find_unit(candidate.unit).scale}]
    return fitting[0] if len(fitting) == 1 else None


def find_scales(text: str) -> set[float]:
    """Find the scales that a help text names: per cent or a share."""
    low = text.lower()
    scales = {0.01} if any(word in low for word in PERCENT) else set()
    return scales | ({1.0} if SHARE.search(low) else set())

"""From series to readings: one value of one field of one GPU, in its base unit, with its time.

Numbers never go on without a unit. Where it cannot be proven, there is no reading, and a doubt says why.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpustack.metrics.fields import Field, find_fields, original
from gpustack.metrics.gpus import Gpu, Owner, gpu_of, owner_of
from gpustack.metrics.prometheus import Series
from gpustack.metrics.units import Unit, to_base, unit_of

PERCENT = ("%", "percent")
SHARE = re.compile(r"\bratio\b|\b0 ?(?:\.\.|-|to) ?1\b")
# Labels that make several series of one field of one GPU.
APART = (
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
    """`field` is the one of old where several say the same. `unit` is a base unit: ratio, bytes, watts, …; `at` are
    seconds since 1970. `part` tells apart what one field has
    several values of, as an Xid its code."""

    gpu: Gpu
    field: Field
    value: float
    unit: str
    at: float
    owner: Owner | None = None
    part: tuple[str, ...] = ()


@dataclass(frozen=True)
class Readings:
    """`doubts` are sentences: what was left out, and why; what is there twice."""

    newest: tuple[Reading, ...]
    doubts: tuple[str, ...] = ()


def read(found: Iterable[Series], helps: Mapping[str, Sequence[str]]) -> Readings:
    """The newest reading of each field of each GPU. `helps`: what exporters say of metrics whose name alone does not
    tell the field."""
    newest: dict[tuple[object, ...], Reading] = {}
    jobs_of: dict[tuple[object, ...], str] = {}
    targets: dict[tuple[str, str], set[str]] = {}
    doubts: dict[str, None] = {}
    for series in found:
        name, gpu = series.labels.get("__name__", ""), gpu_of(series.labels)
        if gpu is None or not series.points:
            continue
        which = settle(name, helps.get(name, ()))
        if which is None:
            doubts[f"{name}: its unit is not known, neither by its name nor by what the exporter says of it"] = None
            continue
        unit, part = unit_of(which.unit), tuple(series.labels[key] for key in APART if key in series.labels)
        reading = latest(series, which, unit, gpu, part)
        if reading is None:
            continue
        targets.setdefault(gpu.key, set()).add(series.labels.get("job", ""))
        key = (*gpu.key, reading.field, part)
        other, job = newest.get(key), series.labels.get("job", "")
        if other is None:
            newest[key], jobs_of[key] = reading, job
            continue
        first, last = sorted((other, reading), key=lambda one: one.at)
        # Of two jobs, one may not map pods: what the other says of the owner counts.
        owner = last.owner or (first.owner if job != jobs_of[key] else None)
        newest[key], jobs_of[key] = replace(last, owner=owner), job if last is reading else jobs_of[key]
    for jobs in sorted({tuple(sorted(jobs)) for jobs in targets.values() if len(jobs) > 1}):
        doubts[f"GPUs are scraped by {len(jobs)} jobs, {', '.join(jobs)}: each is counted once"] = None
    return Readings(tuple(newest.values()), tuple(doubts))


def latest(series: Series, which: Field, unit: Unit, gpu: Gpu, part: tuple[str, ...]) -> Reading | None:
    """None where the newest value is blank: an older one would say what is no longer so."""
    at, raw = series.points[-1]
    value = to_base(unit, raw)
    return None if value is None else Reading(gpu, original(which), value, unit.base, at, owner_of(series.labels), part)


def settle(name: str, helps: Sequence[str]) -> Field | None:
    """The field that a metric is of. Where two have the name, what the exporter says of it decides, if all say one."""
    candidates = [found for found in find_fields(name) if name in found.spellings]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    scales = {unit for text in helps for unit in units_in(text)} if helps else set()
    fitting = [found for found in candidates if scales == {unit_of(found.unit).scale}]
    return fitting[0] if len(fitting) == 1 else None


def units_in(text: str) -> set[float]:
    """The scale that a help text names: per cent or a share."""
    low = text.lower()
    found = {0.01} if any(word in low for word in PERCENT) else set()
    return found | ({1.0} if SHARE.search(low) else set())

"""Made profiles with right answers (tests/worlds/profiles), and variations of jobs: other boards, more noise, and
fields that an exporter does not send."""

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gpustack.profile.file import ADAPTER, SCHEMA, Profile
from gpustack.profile.window import NEEDED_QUANTITIES, GpuWindow, Job

FOLDER = Path(__file__).parents[2] / "worlds" / "profiles"
NAMES = tuple(sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz")))
# Fields of gpustack/profile/v1, and their names since.
NEW_NAMES = {"what": "subject", "every": "interval", "slowed": "throttle_shares"}
LINKS = ("pcie_receive", "pcie_transmit", "nvlink_receive", "nvlink_transmit")


@cache
def read_made_profile(name: str) -> Profile:
    document = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    windows = [rename_fields(window) for window in document["job"]["windows"]]
    return ADAPTER.validate_python(rename_fields(document) | {"schema": SCHEMA, "job": {"windows": windows}})


def rename_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    return {NEW_NAMES.get(name, name): value for name, value in document.items()}


def change_windows(job: Job, change: Callable[[GpuWindow], GpuWindow]) -> Job:
    return Job(tuple(map(change, job.windows)))


def list_without_fields(job: Job) -> Iterator[tuple[str, Job]]:
    """List the job without each of its fields in turn, but for those that every verdict needs."""
    first = job.windows[0]
    for name in first.tracks.keys() - set(NEEDED_QUANTITIES):
        yield name, drop_field(job, "tracks", name)
    for name in first.throttle_shares:
        yield name, drop_field(job, "throttle_shares", name)
    for name in ("pcie_peak", "nvlink_peak", "memory_total"):
        yield name, change_windows(job, lambda window, name=name: replace(window, **{name: None}))  # type: ignore[misc]
    yield "model", change_windows(job, lambda window: replace(window, gpu=replace(window.gpu, model="")))


def drop_field(job: Job, group: str, name: str) -> Job:
    def drop(window: GpuWindow) -> GpuWindow:
        fields = {key: value for key, value in getattr(window, group).items() if key != name}
        return replace(window, **{group: fields})  # type: ignore[arg-type]

    return change_windows(job, drop)


def swap_boards(job: Job, model: str, power: float, clock: float, pcie: float, nvlink: float) -> Job:
    """Swap the boards for those of another model, at the same shares: `power` and `clock` are of these boards."""

    def swap(window: GpuWindow) -> GpuWindow:
        scales = dict.fromkeys(("power", "power_limit"), power / 700) | dict.fromkeys(
            ("clock", "clock_max"), clock / 1.98e9
        )
        for name, peak, former in zip(LINKS, (pcie, pcie, nvlink, nvlink), (63e9, 63e9, 450e9, 450e9), strict=True):
            scales[name] = peak / former
        tracks = {name: [value * scales.get(name, 1.0) for value in track] for name, track in window.tracks.items()}
        gpu = replace(window.gpu, model=model)
        return replace(window, gpu=gpu, tracks=tracks, pcie_peak=pcie, nvlink_peak=nvlink)

    return change_windows(job, swap)


def add_noise(job: Job, share: float, seed: int) -> Job:
    """Add noise to all values that change; settings and zeros stay."""
    rng = random.Random(seed)

    def spoil(name: str, track: list[float]) -> list[float]:
        if name in ("power_limit", "clock_max"):
            return list(track)
        noisy = [value * rng.gauss(1, share) for value in track]
        is_share = max(track, default=0.0) <= 1.0
        return [min(1.0, max(0.0, value)) if is_share else max(0.0, value) for value in noisy]

    def spoil_window(window: GpuWindow) -> GpuWindow:
        return replace(window, tracks={name: spoil(name, list(track)) for name, track in window.tracks.items()})

    return change_windows(job, spoil_window)

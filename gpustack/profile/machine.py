"""What GPUs are and are set to: runs on other machines are no comparison."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from gpustack.profile.window import GpuWindow, Job

OFF_ON = {0.0: "off", 1.0: "on"}


def setting(name: str, words: Mapping[float, str] | None = None) -> Callable[[GpuWindow], str | None]:
    def read(window: GpuWindow) -> str | None:
        value = window.settings.get(name)
        return None if value is None else (words or {}).get(value, f"{value:g}")

    return read


def level(name: str, scale: float, unit: str) -> Callable[[GpuWindow], str | None]:
    def read(window: GpuWindow) -> str | None:
        track = window.tracks.get(name)
        return f"{median(track) / scale:.0f} {unit}" if track else None

    return read


# What is compared; None where the exporter does not send it.
TRAITS: Mapping[str, Callable[[GpuWindow], str | None]] = {
    "model": lambda window: window.gpu.model or None,
    "MIG instance": lambda window: window.gpu.profile or "none",
    "driver": lambda window: window.gpu.driver,
    "power limit": level("power_limit", 1, "W"),
    "highest SM clock": level("clock_max", 1e6, "MHz"),
    "ECC": setting("ecc", OFF_ON),
    "MIG mode": setting("mig", OFF_ON),
    "PCIe generation": setting("pcie_generation"),
    "PCIe lanes": setting("pcie_lanes"),
}


@dataclass(frozen=True)
class Trait:
    """What it is in each of two runs; empty where a GPU does not say."""

    what: str
    before: str
    after: str

    @property
    def known(self) -> bool:
        return bool(self.before and self.after)

    @property
    def differs(self) -> bool:
        return self.known and self.before != self.after


def compare_machines(before: Job, after: Job) -> tuple[Trait, ...]:
    return tuple(Trait(what, read_all(before, read), read_all(after, read)) for what, read in TRAITS.items())


def read_all(job: Job, read: Callable[[GpuWindow], str | None]) -> str:
    """`16`, or `16, 8` where GPUs differ."""
    found = [read(window) for window in job.windows]
    return "" if None in found else ", ".join(sorted({text for text in found if text}))

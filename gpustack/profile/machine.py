"""Traits and settings of GPUs: runs on other machines cannot be compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from gpustack.profile.window import GpuWindow, Job

OFF_ON = {0.0: "off", 1.0: "on"}


def build_setting_reader(name: str, words: Mapping[float, str] | None = None) -> Callable[[GpuWindow], str | None]:
    def read(window: GpuWindow) -> str | None:
        setting = window.settings.get(name)
        return None if setting is None else (words or {}).get(setting, f"{setting:g}")

    return read


def build_level_reader(name: str, scale: float, unit: str) -> Callable[[GpuWindow], str | None]:
    def read(window: GpuWindow) -> str | None:
        track = window.tracks.get(name)
        return f"{median(track) / scale:.0f} {unit}" if track else None

    return read


# What is compared; None where the exporter does not send it.
TRAITS: Mapping[str, Callable[[GpuWindow], str | None]] = {
    "model": lambda window: window.gpu.model or None,
    "MIG instance": lambda window: window.gpu.profile or "none",
    "driver": lambda window: window.gpu.driver,
    "power limit": build_level_reader("power_limit", 1, "W"),
    "highest SM clock": build_level_reader("clock_max", 1e6, "MHz"),
    "ECC": build_setting_reader("ecc", OFF_ON),
    "MIG mode": build_setting_reader("mig", OFF_ON),
    "PCIe generation": build_setting_reader("pcie_generation"),
    "PCIe lanes": build_setting_reader("pcie_lanes"),
}


@dataclass(frozen=True)
class Trait:
    """Hold a trait in each of two runs; it is empty where a GPU does not say."""

    name: str
    before: str
    after: str

    @property
    def known(self) -> bool:
        return bool(self.before and self.after)

    @property
    def differs(self) -> bool:
        return self.known and self.before != self.after


def compare_machines(before: Job, after: Job) -> tuple[Trait, ...]:
    return tuple(Trait(name, read_all(before, read), read_all(after, read)) for name, read in TRAITS.items())


def read_all(job: Job, read: Callable[[GpuWindow], str | None]) -> str:
    """Read a trait of all GPUs: `16`, or `16, 8` where they differ."""
    texts = [read(window) for window in job.windows]
    return "" if None in texts else ", ".join(sorted({text for text in texts if text}))

"""The faults that a lab can be given, read from the files beside this one, one for each layer or part of it.

An entry has the id `fault` of the doctor's catalogue, and the `variant` tells apart entries of one fault. Its `target`
is worker, control-plane or every, `does` says what is done. `break`, `heal` and `shows` are scripts of sh that root
runs on the target; `plane` holds the same for the control plane, run after those. `shows` ends well when the symptom is
there. `gpu` are words for the host's first simulated GPU. prelude.sh has the functions for scripts. With `decoy`, a
name, in place of `fault` an entry is something harmless that looks like a fault, for every host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gpustack.command import Command
from gpustack.config.resources import read_shipped_yaml
from gpustack.errors import LabError

Target = Literal["worker", "control-plane", "every"]
PARTS = ("break", "heal", "shows")
# Files without injectors: faults that no injector makes, and changes that only look like faults.
OTHER_FILES = ("uncarried", "decoys", "healthy")
DECOY = "decoy"
KEYS = {"fault", DECOY, "variant", "target", "does", "gpu", "plane", "alone", "one_host", "stays", *PARTS}


@dataclass(frozen=True)
class Injector:
    """Describe an entry. `host` and `plane` are scripts by part (break, heal, shows), `gpu` are words by part. `alone`
    must not be injected beside another fault, as it takes the whole cluster with it, or hides what else is wrong with
    its host. `one_host` is a fault only where there is but one. `stays` says that no remedy undoes it in a lab, only
    `heal`. A decoy is a variant of the fault `decoy`."""

    fault: str
    variant: str
    target: Target
    does: str
    host: Mapping[str, str] = field(default_factory=dict)
    plane: Mapping[str, str] = field(default_factory=dict)
    gpu: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alone: bool = False
    one_host: bool = False
    stays: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}/{self.variant}" if self.variant else self.fault


def read(path: Path) -> list[Injector]:
    """Read the entries of a file. Raise ValueError for an unknown key."""
    injectors: list[Injector] = []
    entries: Any = read_shipped_yaml(path)
    for entry in entries or ():
        if unknown_keys := set(entry) - KEYS:
            raise ValueError(f"{path.name}: {entry.get('fault')}: {sorted(unknown_keys)}")
        injectors.append(build_injector(entry))
    return injectors


def build_injector(entry: Mapping[str, Any]) -> Injector:
    decoy = entry.get(DECOY, "")
    return Injector(
        DECOY if decoy else entry["fault"],
        decoy or entry.get("variant", ""),
        entry.get("target", "every" if decoy else "worker"),
        entry["does"],
        {part: entry[part] for part in PARTS if part in entry},
        entry.get("plane", {}),
        {part: tuple(words) for part, words in entry.get("gpu", {}).items()},
        entry.get("alone", False),
        entry.get("one_host", False),
        entry.get("stays", False),
    )


@cache
def read_injectors() -> Mapping[str, Injector]:
    """Read all injectors by name, in the order of layers and files."""
    paths = sorted(path for path in Path(__file__).parent.glob("*.yaml") if path.stem not in OTHER_FILES)
    return {injector.name: injector for path in paths for injector in read(path)}


@cache
def read_healthy_changes() -> Mapping[str, Injector]:
    """Read the changes that are no faults, by name: `healthy/NAME`. They are injected and undone as faults are."""
    return {injector.name: injector for injector in read(Path(__file__).parent / "healthy.yaml")}


@cache
def read_decoys() -> Mapping[str, Injector]:
    """Read the decoys by name, `decoy/NAME`."""
    return {injector.name: injector for injector in read(Path(__file__).parent / "decoys.yaml")}


@cache
def read_uncarried_faults() -> Mapping[str, Mapping[str, str]]:
    """Read by layer and fault the reason why no injector makes it, though the catalogue calls it real or sim."""
    reasons: Mapping[str, Mapping[str, str]] = read_shipped_yaml(Path(__file__).parent / "uncarried.yaml")
    return reasons


def find(name: str) -> Injector:
    """Find an injector by FAULT or FAULT/VARIANT. A fault with several variants is made in the first. Raise LabError,
    which names similar ones."""
    candidates = {**read_injectors(), **read_decoys(), **read_healthy_changes()}
    if name in candidates:
        return candidates[name]
    if variants := [injector for injector in read_injectors().values() if injector.fault == name]:
        return variants[0]
    from difflib import get_close_matches

    similar = get_close_matches(name, list(candidates), n=3)
    reason = f"Similar: {', '.join(similar)}." if similar else "No name is like it."
    raise LabError(
        "lab-unknown-fault", f"The lab knows no fault {name!r}.", reason, Command("gpustack", "lab", "faults")
    )

"""The faults that a lab can be given, read from the files beside this one, one for each layer or part of it.

Of an entry, `fault` is the id of the doctor's catalogue, `way` tells two ways of one fault apart, `where` is worker,
control-plane or every, `does` says what is done. `break`, `heal` and `shows` are scripts of sh, run there as root;
`plane` holds the same for the control plane, run after those. `shows` ends well when the symptom is there. `gpu` are
words for the host's first simulated GPU. What scripts may call is in prelude.sh. With `decoy`, a name, in place of
`fault` it is something harmless that looks like a fault, for every host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gpustack.command import Command
from gpustack.config.resources import shipped_yaml
from gpustack.errors import LabError

Where = Literal["worker", "control-plane", "every"]
PARTS = ("break", "heal", "shows")
# Beside the injectors' files: what is not broken, and why; and what looks like a fault and is none.
OTHERS = ("uncarried", "decoys", "healthy")
DECOY = "decoy"
KEYS = {"fault", DECOY, "way", "where", "does", "gpu", "plane", "alone", "one_host", "stays", *PARTS}


@dataclass(frozen=True)
class Injector:
    """`host`, `plane`: scripts by part (break, heal, shows). `gpu`: words by part. `alone`: not to be made beside
    another fault, as it takes the whole cluster with it, or hides what else is wrong with its host. `one_host`: it is
    a fault only where there is but one. `stays`: no remedy turns it in a lab, only `heal`. A decoy is a way of the
    fault `decoy`."""

    fault: str
    way: str
    where: Where
    does: str
    host: Mapping[str, str] = field(default_factory=dict)
    plane: Mapping[str, str] = field(default_factory=dict)
    gpu: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alone: bool = False
    one_host: bool = False
    stays: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}/{self.way}" if self.way else self.fault


def read(path: Path) -> list[Injector]:
    """Raises ValueError for a key that there is not."""
    found: list[Injector] = []
    entries: Any = shipped_yaml(path)
    for entry in entries or ():
        if strange := set(entry) - KEYS:
            raise ValueError(f"{path.name}: {entry.get('fault')}: {sorted(strange)}")
        found.append(injector(entry))
    return found


def injector(entry: Mapping[str, Any]) -> Injector:
    decoy = entry.get(DECOY, "")
    return Injector(
        DECOY if decoy else entry["fault"],
        decoy or entry.get("way", ""),
        entry.get("where", "every" if decoy else "worker"),
        entry["does"],
        {part: entry[part] for part in PARTS if part in entry},
        entry.get("plane", {}),
        {part: tuple(words) for part, words in entry.get("gpu", {}).items()},
        entry.get("alone", False),
        entry.get("one_host", False),
        entry.get("stays", False),
    )


@cache
def injectors() -> Mapping[str, Injector]:
    """By name, in the order of layers and files."""
    paths = sorted(path for path in Path(__file__).parent.glob("*.yaml") if path.stem not in OTHERS)
    return {one.name: one for path in paths for one in read(path)}


@cache
def variants() -> Mapping[str, Injector]:
    """Changes that are none of doctor's business, by name: `healthy/NAME`. Given and taken away as faults are."""
    return {one.name: one for one in read(Path(__file__).parent / "healthy.yaml")}


@cache
def decoys() -> Mapping[str, Injector]:
    """By name, decoy/WHAT."""
    return {one.name: one for one in read(Path(__file__).parent / "decoys.yaml")}


@cache
def uncarried() -> Mapping[str, Mapping[str, str]]:
    """By layer, by fault: why no injector makes it though the catalogue calls it real or sim."""
    reasons: Mapping[str, Mapping[str, str]] = shipped_yaml(Path(__file__).parent / "uncarried.yaml")
    return reasons


def find(name: str) -> Injector:
    """By FAULT or FAULT/WAY; a fault of several ways is made in the first. Raises LabError, which names those that are
    alike."""
    there = {**injectors(), **decoys(), **variants()}
    if name in there:
        return there[name]
    if ways := [one for one in injectors().values() if one.fault == name]:
        return ways[0]
    from difflib import get_close_matches

    similar = get_close_matches(name, list(there), n=3)
    why = f"Similar: {', '.join(similar)}." if similar else "No name is like it."
    raise LabError("lab-unknown-fault", f"The lab knows no fault {name!r}.", why, Command("gpustack", "lab", "faults"))

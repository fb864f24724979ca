"""A break of each check of each step is data (STEP.yaml): it shows what can drift.

A break is made by a shell script on a lab host (`break`), by other settings of the inventory (`spec`, `vars`) or by an
inventory of fewer hosts (`hosts`). `actual` is part of what the check then says, or one of several between ` | `;
`along` are the checks that cannot but differ too, `maybe` those that may by then, `unknown` those that are then unknown
(patterns), `hidden_checks` those that perhaps cannot. `cure` is what the check must say: `install` fixes it, with the
playbook of this step on this host alone, and `proof` is a script that succeeds then; else install refuses, `hint` is
part of what the check advises, and `recover` puts the host right. With cure install `recover` takes away what is left
of the break and is not ours. `side_effects` are plays (STEP@HOST) that install runs, too.

What cannot be broken on a lab host has a `reason` and names the `unit` test that breaks it by a constructed answer.

Entries with `task` are for tests/lab/test_owned_values.py: for each task of the role that can change something, a value
of ours that `flip`, a script on `host`, changes; or a `reason` why none is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from gpustack.steps import STEPS

FOLDER = Path(__file__).parent
SCOPES = {step.id: step.scope for step in STEPS}


@dataclass(frozen=True)
class Break:
    """`host_scripts` are scripts for other hosts, run before. `alone`: nothing else is broken at the same time."""

    step: str
    check: str
    actual: str = ""
    case: str = ""
    host: str = "host1"
    script: str = ""
    host_scripts: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    vars: dict[str, Any] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    hidden_checks: tuple[str, ...] = ()
    cure: str = "install"
    hint: str = ""
    side_effects: tuple[str, ...] = ()
    proof: str = ""
    recover: str = ""
    alone: bool = False
    reason: str = ""
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.step}/{self.check}" + (f" ({self.case})" if self.case else "")

    @property
    def id(self) -> str:
        return f"{self.step}/{self.check}"

    @property
    def location(self) -> str:
        return "cluster" if SCOPES[self.step] == "cluster" else self.host

    @property
    def expected_checks(self) -> frozenset[str]:
        """The checks that differ then, as `STEP/CHECK@WHERE`."""
        return frozenset({f"{self.id}@{self.location}", *self.along})

    @property
    def solitary(self) -> bool:
        return self.alone or bool(self.spec or self.vars or self.hosts)

    def may_be_unknown(self, check_name: str) -> bool:
        return any(fnmatchcase(check_name, pattern) for pattern in (*self.unknown, *self.hidden_checks))

    def list_places(self) -> set[tuple[str, str]]:
        """List (step, place) of everything that it breaks or hides."""
        places = (*self.expected_checks, *self.unknown, *self.hidden_checks)
        return {(place.split("/")[0], place.rsplit("@", 1)[1]) for place in places}


def load() -> list[Break]:
    """Load all entries, in the order of the steps. Raise TypeError for a field that is none."""
    return [entry for step in STEPS for entry in read(step.id)]


def read(step: str) -> Iterator[Break]:
    for raw in read_entries(step, "check"):
        values: dict[str, Any] = {"script" if key == "break" else key: value for key, value in raw.items()}
        lists: dict[str, Any] = {
            key: tuple(values[key])
            for key in ("along", "maybe", "unknown", "hidden_checks", "side_effects", "hosts")
            if key in values
        }
        yield Break(step, **(values | lists))


def read_entries(step: str, key: str) -> list[dict[str, Any]]:
    """Read the entries of one kind: `check` or `task`."""
    path = FOLDER / f"{step}.yaml"
    return [raw for raw in yaml.safe_load(path.read_text()) if key in raw] if path.exists() else []


def build_batches(entries: Sequence[Break]) -> list[list[Break]]:
    """Build batches of breaks that can be made and judged at once: of one cure, and no two of the same step at the same
    place."""
    batches: list[list[Break]] = []
    for entry in entries:
        fits = (
            batch
            for batch in batches
            if not entry.solitary
            and not batch[0].solitary
            and (batch[0].cure == "install") == (entry.cure == "install")
            and not any(entry.list_places() & entry_of_batch.list_places() for entry_of_batch in batch)
        )
        batch_index = next(fits, None)
        if batch_index is None:
            batches.append([entry])
        else:
            batch_index.append(entry)
    return batches

"""What can drift: for each check of each step a break of exactly that, as data (STEP.yaml).

A break is made by a shell script on a lab host (`break`), by other settings of the inventory (`spec`, `vars`) or by an
inventory of fewer hosts (`hosts`). `found` is part of what the check then says, or one of several between ` | `;
`along` are the checks that cannot but differ too, `maybe` those that may by then, `unknown` those that then cannot be
told (patterns), `veiled` those that perhaps cannot. `cure` is what the check must say: `install` mends it, with the
playbook of this step on this host alone, and `proof` is a script that succeeds then; else install refuses, `hint` is
part of what the check advises, and `heal` puts the host right. With cure install `heal` takes away what is left of the
break and is not ours. `beside` are plays (STEP@HOST) that install does besides.

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

HERE = Path(__file__).parent
SCOPES = {step.id: step.scope for step in STEPS}


@dataclass(frozen=True)
class Break:
    """`also` are scripts for other hosts, run before. `alone`: nothing else is broken at the same time."""

    step: str
    check: str
    found: str = ""
    case: str = ""
    host: str = "host1"
    script: str = ""
    also: dict[str, str] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    vars: dict[str, Any] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    veiled: tuple[str, ...] = ()
    cure: str = "install"
    hint: str = ""
    beside: tuple[str, ...] = ()
    proof: str = ""
    heal: str = ""
    alone: bool = False
    reason: str = ""
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.step}/{self.check}" + (f" ({self.case})" if self.case else "")

    @property
    def id(self) -> str:
        return f"{self.step}/{self.check}"

    @property
    def where(self) -> str:
        return "cluster" if SCOPES[self.step] == "cluster" else self.host

    @property
    def named(self) -> frozenset[str]:
        """All that differs then, as `STEP/CHECK@WHERE`."""
        return frozenset({f"{self.id}@{self.where}", *self.along})

    @property
    def solitary(self) -> bool:
        return self.alone or bool(self.spec or self.vars or self.hosts)

    def cannot_tell(self, one: str) -> bool:
        return any(fnmatchcase(one, pattern) for pattern in (*self.unknown, *self.veiled))

    def touches(self) -> set[tuple[str, str]]:
        """(step, place) of all that it breaks or hides."""
        whole = (*self.named, *self.unknown, *self.veiled)
        return {(one.split("/")[0], one.rsplit("@", 1)[1]) for one in whole}


def load() -> list[Break]:
    """All entries, in the order of the steps. Raises TypeError for a field that is none."""
    return [entry for step in STEPS for entry in read(step.id)]


def read(step: str) -> Iterator[Break]:
    for raw in entries(step, "check"):
        values: dict[str, Any] = {"script" if key == "break" else key: value for key, value in raw.items()}
        lists: dict[str, Any] = {
            key: tuple(values[key])
            for key in ("along", "maybe", "unknown", "veiled", "beside", "hosts")
            if key in values
        }
        yield Break(step, **(values | lists))


def entries(step: str, key: str) -> list[dict[str, Any]]:
    """Those of one kind: `check` or `task`."""
    path = HERE / f"{step}.yaml"
    return [raw for raw in yaml.safe_load(path.read_text()) if key in raw] if path.exists() else []


def batches(entries: Sequence[Break]) -> list[list[Break]]:
    """Breaks that can be made and judged at once: of one cure, and no two of the same step at the same place."""
    made: list[list[Break]] = []
    for entry in entries:
        fits = (
            batch
            for batch in made
            if not entry.solitary
            and not batch[0].solitary
            and (batch[0].cure == "install") == (entry.cure == "install")
            and not any(entry.touches() & other.touches() for other in batch)
        )
        found = next(fits, None)
        if found is None:
            made.append([entry])
        else:
            found.append(entry)
    return made

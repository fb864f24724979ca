"""Values that a task owns, for test_owned_values.py."""

from dataclasses import dataclass
from typing import Any

from gpustack.steps import STEPS
from tests.lab.breaks import read_entries


@dataclass(frozen=True)
class OwnedValue:
    """A value, and the task of `step` on `host` that owns it; `along` are tasks that cannot but change with it."""

    step: str
    task: str
    host: str = ""
    flip: str = ""
    along: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reason: str = ""

    @property
    def changed_tasks(self) -> set[tuple[str, str, str]]:
        """The tasks that report a change, as (step, host, task)."""
        return {(self.step, self.host, task) for task in (self.task, *self.along)}


def load() -> list[OwnedValue]:
    return [OwnedValue(step.id, **build_fields(raw)) for step in STEPS for raw in read_entries(step.id, "task")]


def build_fields(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(entry) if isinstance(entry, list) else entry for key, entry in raw.items()}

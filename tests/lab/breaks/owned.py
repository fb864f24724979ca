"""Values that a task owns, for test_owned_values.py."""

from dataclasses import dataclass
from typing import Any

from gpustack.steps import STEPS
from tests.lab.breaks import entries


@dataclass(frozen=True)
class Owned:
    """A value, and the task of `step` on `host` that owns it; `along` are tasks that cannot but change with it."""

    step: str
    task: str
    host: str = ""
    flip: str = ""
    along: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reason: str = ""

    @property
    def changed(self) -> set[tuple[str, str, str]]:
        """(step, host, task)"""
        return {(self.step, self.host, task) for task in (self.task, *self.along)}


def load() -> list[Owned]:
    return [Owned(step.id, **fields(raw)) for step in STEPS for raw in entries(step.id, "task")]


def fields(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(entry) if isinstance(entry, list) else entry for key, entry in raw.items()}

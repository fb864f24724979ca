"""A check of a step has a break that a lab test makes, or a reason why none can be, and a unit test instead."""

import ast
from functools import cache
from pathlib import Path

import pytest

from gpustack.steps import STEPS
from tests.contract.roles import FOLDERS, ROLES, list_role_tasks
from tests.lab.breaks import Break, load
from tests.lab.breaks.owned import load as owned

UNIT = Path(__file__).parents[1] / "unit" / "steps"
ENTRIES = load()
CHECKS = [f"{step.id}/{check.__name__.replace('_', '-')}" for step in STEPS for check in step.checks]
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=str)


@cache
def list_unit_tests(step: str) -> set[str]:
    """List the names of the test functions of a step, which may stand in several files of its name."""
    trees = [ast.parse(path.read_text()) for path in UNIT.glob(f"test_{step.replace('-', '_')}*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_check_has_a_break_or_a_reason() -> None:
    known_ids = {entry.id for entry in ENTRIES}
    assert [check for check in CHECKS if check not in known_ids] == []


def test_every_entry_is_of_a_check() -> None:
    named_checks = {check.rsplit("@", 1)[0] for entry in ENTRIES for check in entry.expected_checks}
    assert sorted(named_checks - set(CHECKS)) == []


def test_no_entry_stands_twice() -> None:
    names = [str(entry) for entry in ENTRIES]
    assert sorted(names) == sorted(set(names))


@every_entry
def test_an_entry_is_whole(entry: Break) -> None:
    """A break says what is found then and what comes of it; a reason goes with a unit test and with nothing else."""
    has_break = bool(entry.script or entry.spec or entry.vars or entry.hosts)
    assert has_break is not bool(entry.reason)
    if entry.reason:
        assert entry.unit in list_unit_tests(entry.step)
        return
    assert entry.actual
    assert entry.cure in ("install", "upgrade", "operator")
    if entry.cure == "install":
        assert entry.proof or entry.recover, "a witness other than our own probes"
    elif entry.script:
        assert entry.recover


def test_every_task_that_can_change_something_has_a_value_that_is_flipped() -> None:
    owned_tasks = {(value.step, value.task) for value in owned()}
    assert sorted(list_changing_tasks() - owned_tasks) == []
    assert sorted(owned_tasks - list_changing_tasks()) == []


def list_changing_tasks() -> set[tuple[str, str]]:
    """List (step, task) of all tasks and handlers of steps that can change something. Tasks of remedies are never part
    of an installation: tests/lab/test_fix.py plays them."""
    looking = {
        "ansible.builtin.find",
        "ansible.builtin.stat",
        "ansible.builtin.assert",
        "ansible.builtin.import_tasks",
        "ansible.builtin.include_tasks",
        "ansible.builtin.meta",
    }
    return {
        (role.name.replace("_", "-"), task["name"])
        for role in ROLES
        if role.parent == FOLDERS[0]
        for place, task in list_role_tasks(role)
        if not place.startswith("tasks/reset.yml")
        and "block" not in task
        and not looking & set(task)
        and task.get("changed_when") is not False
    }

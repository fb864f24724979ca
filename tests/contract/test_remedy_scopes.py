"""Check that each remedy declares what it may change, and that its playbook writes nothing else."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.doctor.entry import Fault
from gpustack.doctor.graph import load_graph
from gpustack.remedy.scope import SYSCTL_FILE, Scope, declare_drop_in, declare_sysctl, format_file_state, list_variants
from gpustack.remedy.step_scope import STEP_SCOPES, declare_fault, declare_resources, list_agreed_patterns
from gpustack.steps import STEPS
from tests.contract.roles import list_role_tasks

REMEDIES = [fault for fault in load_graph().faults.values() if fault.remedy]
PLAYED_STEPS = sorted({fault.remedy.step for fault in REMEDIES if fault.remedy and fault.remedy.step})
ROLES = locate_playbooks() / "remedy" / "roles"
# Modules that write, and the argument that says where.
WRITERS = {"copy": "dest", "template": "dest", "replace": "path", "lineinfile": "path", "file": "path"}
SECRET = re.compile(r"/etc/(shadow|gshadow|ssh|ssl/private|kubernetes/(pki|[^/]*\.conf))|/run/")
# Written and removed within the play.
PASSING = {"/run/gpustack-join.yaml"}


def list_written(role: Path) -> Iterator[tuple[str, str]]:
    """List each path that a task of a role writes, with the task. A loop has one for each of its entries."""
    for name, task in list_role_tasks(role):
        if "reset" in name.partition(":")[0]:
            continue
        for module, argument in WRITERS.items():
            if isinstance(arguments := task.get(f"ansible.builtin.{module}"), Mapping) and argument in arguments:
                yield from ((name, path) for path in expand(str(arguments[argument]), task.get("loop")))


def expand(path: str, loop: Any) -> Iterator[str]:
    """Expand a path for each entry of a loop. A path that depends on a variable stays a template."""
    for variables in [{"item": entry} for entry in loop] if isinstance(loop, list) else [{}]:
        try:
            yield jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(path).render(variables)
        except (jinja2.UndefinedError, jinja2.TemplateError):
            yield path


def covers_path(scope: Scope, path: str) -> bool:
    return any(scope.covers(kind, path) for kind in ("file", "folder", "pattern"))


@pytest.mark.parametrize("fault", REMEDIES, ids=lambda fault: fault.id)
def test_every_remedy_declares_what_it_may_change(fault: Fault) -> None:
    scope = declare_fault(fault)
    remedy = fault.remedy
    assert remedy
    assert (
        scope.resources or scope.targets or scope.irreversible_changes or STEP_SCOPES[remedy.step].irreversible_changes
    )
    for thing in scope.resources:
        assert not {"\t", "\n"} & set(thing.name)
        if thing.kind in ("file", "pattern", "folder"):
            assert re.fullmatch(r"(/[\w.-]+)+(/[\w.-]*\*[\w.-]*)?", thing.name), "a path without .. and spaces"
            assert not SECRET.match(thing.name), "keys and passwords of the host are never copied"


def test_every_step_that_is_played_is_declared() -> None:
    assert sorted(STEP_SCOPES) == PLAYED_STEPS
    assert set(PLAYED_STEPS) <= {step.id for step in STEPS}


@pytest.mark.parametrize("step", PLAYED_STEPS)
def test_a_step_writes_what_is_declared(step: str) -> None:
    fault = next(fault for fault in REMEDIES if fault.remedy and fault.remedy.step == step)
    scope, role = declare_fault(fault), locate_playbooks() / "roles" / step.replace("-", "_")
    undeclared_tasks = [
        (name, path)
        for name, path in list_written(role)
        if "{{" not in path
        and path not in PASSING
        and not covers_path(scope, path)
        and path not in list_agreed_patterns()
    ]
    assert undeclared_tasks == []


def list_parameters(kind: str) -> list[tuple[Scope, dict[str, Any]]]:
    """List the declaration of each remedy of a kind, with the variables of its role."""
    scopes: list[tuple[Scope, dict[str, Any]]] = []
    for fault in REMEDIES:
        remedy = fault.remedy
        assert remedy
        if remedy.kind == "sysctl" and kind == "sysctl":
            scopes.append((declare_sysctl(remedy.sysctl), {"sysctl_keys": dict(remedy.sysctl)}))
        if remedy.drop_in and kind == "drop_in":
            for variant in list_variants(remedy.drop_in):
                extra_variables = {"drop_in_path": variant.path, "drop_in_lines": variant.lines}
                scopes.append((declare_drop_in(vars(variant)), extra_variables))
        if remedy.unit and kind == "unit":
            scopes.append((declare_fault(fault), {"unit_name": remedy.unit.name}))
    return scopes


def render(template: str, variables: Mapping[str, Any]) -> str:
    """Render a template as Ansible does: the newline of a block is trimmed, and `dirname` is a filter."""
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    environment.filters["dirname"] = lambda path: path.rpartition("/")[0]
    return environment.from_string(template).render(**variables)


@pytest.mark.parametrize("kind", ["sysctl", "drop_in", "unit", "rollout", "apt"])
def test_a_playbook_of_remedies_writes_what_is_declared(kind: str) -> None:
    """Whatever is no file or unit by a module is a command that the next test knows."""
    for scope, variables in list_parameters(kind):
        for _, task in list_role_tasks(ROLES / kind):
            for module, argument in WRITERS.items():
                arguments = task.get(f"ansible.builtin.{module}")
                if not arguments:
                    continue
                path = render(arguments[argument], variables)
                assert covers_path(scope, path), (task["name"], path)
                if "content" in arguments:
                    assert format_file_state(render(arguments["content"], variables)) in {
                        state for thing in scope.resources if thing.name == path for state in thing.possible_states
                    }
                    assert arguments["mode"] == "0644"
                assert "backup" not in arguments, "a copy that no record has"
            if unit := task.get("ansible.builtin.systemd_service"):
                name = unit["name"]
                assert name == "{{ drop_in_reload }}" or scope.covers("unit", render(name, variables))


def test_commands_of_remedies_change_what_is_declared() -> None:
    """The programs that their scripts run and that change something, by role."""
    changing = re.compile(
        r"\b(sysctl -qw|rollout restart|delete pod|apt-get|apt-mark|dpkg --configure|mv|rm|tee|sed -i)\b|>[^&/2]"
    )
    tasks = {
        path.parent.parent.name: {match[0] for match in changing.finditer(path.read_text()) if match[1]}
        for path in sorted(ROLES.glob("*/files/*.sh"))
        if changing.search(path.read_text())
    }
    assert tasks == {
        "apt": {"apt-get", "apt-mark"},
        "rollout": {"rollout restart", "delete pod"},
        "sysctl": {"sysctl -qw"},
    }


def test_no_secret_is_copied_before_a_fix() -> None:
    names = [thing.name for step in STEP_SCOPES for thing in declare_resources(step)]
    assert [name for name in names if "receivers" in name or "join" in name] == []


def test_the_file_of_parameters_is_the_role_s() -> None:
    tasks = yaml.safe_load((ROLES / "sysctl" / "tasks" / "main.yml").read_text())
    assert [task["ansible.builtin.copy"]["dest"] for task in tasks if "ansible.builtin.copy" in task] == [SYSCTL_FILE]

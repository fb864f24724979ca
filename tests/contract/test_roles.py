"""What every role keeps to: ansible.builtin only, declared arguments, no defaults of its own, no sleeps."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.shipped import playbooks
from gpustack.probes.kubeadm import SIGNATURE

FOLDERS = (playbooks() / "roles", playbooks() / "remedy" / "roles")
ROLES = sorted(path for folder in FOLDERS for path in folder.iterdir() if path.is_dir())
every_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)

# Everything a task may say beside its module (ansible-core's playbook keywords for tasks, blocks and handlers).
KEYWORDS = {
    "always", "any_errors_fatal", "args", "async", "become", "become_user", "block", "changed_when", "check_mode",
    "delay", "delegate_facts", "delegate_to", "diff", "environment", "failed_when", "ignore_errors",
    "ignore_unreachable", "listen", "loop", "loop_control", "name", "no_log", "notify", "poll", "register", "rescue",
    "retries", "run_once", "tags", "throttle", "timeout", "until", "vars", "when",
}  # fmt: skip


def tasks(found: Any) -> Iterator[dict[str, Any]]:
    """Every task of a file, those inside blocks too."""
    for task in found or ():
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks(task.get(part))


def tasks_of(role: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those of its files, and those that it includes from beside the roles."""
    for path in sorted([*role.glob("tasks/**/*.yml"), *role.glob("handlers/**/*.yml")]):
        for task in tasks(yaml.safe_load(path.read_text())):
            yield f"{path.relative_to(role)}: {task.get('name', '?')}", task
            included = str(task.get("ansible.builtin.include_tasks", ""))
            if included.startswith("../"):
                for shared in tasks(yaml.safe_load((path.parent / included).read_text())):
                    yield f"{path.relative_to(role)}: {shared.get('name', '?')}", shared


def test_there_are_roles() -> None:
    assert ROLES


@every_role
def test_tasks_say_what_they_ensure(role: Path) -> None:
    """Handlers are named after what they do: they ensure nothing, they follow a change."""
    named = [where for where, _ in tasks_of(role) if where.startswith("tasks/")]
    assert [where for where in named if not where.partition(": ")[2].startswith("Ensure ")] == []


@every_role
def test_only_builtin_modules(role: Path) -> None:
    foreign = {
        where: sorted(set(task) - KEYWORDS)
        for where, task in tasks_of(role)
        if any(not key.startswith("ansible.builtin.") for key in set(task) - KEYWORDS)
    }
    assert foreign == {}
    assert list(role.rglob("requirements.yml")) == []


@every_role
def test_arguments_are_declared_and_required(role: Path) -> None:
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    assert specs["main"]["short_description"]
    with_default = list(defaults(specs["main"].get("options", {})))
    assert with_default == [], "defaults stand in gpustack/config/spec.py only"


def defaults(options: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, option in options.items():
        if "default" in option:
            yield prefix + name
        yield from defaults(option.get("options", {}), f"{prefix}{name}.")


@every_role
def test_no_defaults(role: Path) -> None:
    assert list(role.glob("defaults/*")) == []


SAME_MACHINE = playbooks() / "tasks" / "same-machine.yml"
PLAYBOOKS = [path for folder in (playbooks(), playbooks() / "remedy") for path in sorted(folder.glob("*.yml"))]


def asserts_machine(task: dict[str, Any], folder: Path) -> bool:
    path: Path = folder / task.get("ansible.builtin.import_tasks", "")
    return path.resolve() == SAME_MACHINE.resolve()


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_play_begins_with_the_question_which_machine_it_is(path: Path) -> None:
    for play in yaml.safe_load(path.read_text()):
        if "ansible.builtin.import_playbook" not in play:
            (first,) = play["pre_tasks"]
            assert asserts_machine(first, path.parent)
            assert play["gather_facts"] is False, "it would be asked before"


@every_role
def test_a_control_plane_that_acts_for_another_host_is_asked_first_which_machine_it_is(role: Path) -> None:
    """Of each way into the role: tasks/main.yml, which includes others and notifies handlers, and tasks/reset.yml."""
    acting = [path for path in role.rglob("*.yml") if "delegate_to" in path.read_text()]
    for name in {"reset.yml" if path.name == "reset.yml" else "main.yml" for path in acting}:
        (first, *_) = yaml.safe_load((role / "tasks" / name).read_text())
        shared = role / "tasks" / first["ansible.builtin.import_tasks"]
        assert shared.resolve() == SAME_MACHINE.with_name("same-control-plane.yml").resolve()


@every_role
def test_no_sleeps(role: Path) -> None:
    sleeping = [
        where
        for where, task in tasks_of(role)
        if "ansible.builtin.pause" in task or re.search(r"\bsleep\s+[0-9]", str(task))
    ]
    assert sleeping == [], "waiting is part of verification: Step.settle"


@every_role
def test_task_files_are_short(role: Path) -> None:
    long = {str(path): n for path in role.glob("tasks/*.yml") if (n := len(path.read_text().splitlines())) > 80}
    assert long == {}


def test_the_token_of_a_join_is_known_by_one_id() -> None:
    script = (playbooks() / "files" / "join-token.sh").read_text()
    assert f"id={SIGNATURE.removeprefix('jws-kubeconfig-')}\n" in script


# What a host answers stands in these; what names a file, template or task list of the controller is no place for it.
FILES = ("include_tasks", "import_tasks", "include_role", "import_role", "include_vars", "template", "copy", "script")


@every_role
def test_no_answer_of_a_host_names_a_file_of_the_controller(role: Path) -> None:
    found = list(tasks_of(role))
    answers = {str(task["register"]) for _, task in found if "register" in task}
    for where, task in found:
        for module in FILES:
            given = task.get(f"ansible.builtin.{module}")
            named = given if isinstance(given, str) else (given or {}).get("src") or (given or {}).get("file") or ""
            for answer in answers:
                plain = re.sub(r"\w+\[[^\]]*\]", "", str(named))  # a choice among literals
                assert answer not in plain, where
        for answer in answers:
            assert not re.search(rf"lookup\([^)]*\b{answer}\b", str(task)), where
            assert answer not in str(task.get("delegate_to", "")), where

"""A step is a module, a line in STEPS, a playbook and a role, all of the same id, in the same order."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.steps import MODULES, STEPS
from gpustack.steps.step import Step

IDS = [step.id for step in STEPS]
HOSTS = {"kube_control_plane", "kube_node", "!kube_control_plane", "gpu_standalone"}
every_step = pytest.mark.parametrize("step", STEPS, ids=IDS)


def read_plays(name: str) -> list[Mapping[str, Any]]:
    plays: list[Mapping[str, Any]] = yaml.safe_load((locate_playbooks() / f"{name}.yml").read_text())
    return plays


def test_ids_are_unique_and_kebab_case() -> None:
    assert len(set(IDS)) == len(IDS)
    assert [id for id in IDS if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", id)] == []


def test_every_need_stands_earlier() -> None:
    late = [
        (step.id, need) for index, step in enumerate(STEPS) for need in step.dependencies if need not in IDS[:index]
    ]
    assert late == []


def test_playbooks_and_roles_are_those_of_the_steps() -> None:
    assert sorted(path.stem for path in locate_playbooks().glob("*.yml")) == sorted([*IDS, "site", "reset"])
    roles = [path.name for path in (locate_playbooks() / "roles").iterdir() if path.is_dir()]
    assert sorted(roles) == sorted(id.replace("-", "_") for id in IDS)


def test_site_runs_the_steps_in_their_order() -> None:
    assert [play["ansible.builtin.import_playbook"] for play in read_plays("site")] == [f"{id}.yml" for id in IDS]


@every_step
def test_playbook_is_one_play_with_the_role_of_the_step(step: Step) -> None:
    assert len((locate_playbooks() / f"{step.id}.yml").read_text().splitlines()) <= 22
    (play,) = read_plays(step.id)
    names = [role["role"] if isinstance(role, dict) else role for role in play["roles"]]
    assert names == [step.id.replace("-", "_")]
    assert not {"tasks", "handlers"} & set(play)
    assert [task["ansible.builtin.import_tasks"] for task in play.get("post_tasks", ())] in (
        [], ["tasks/record-after.yml"]
    )  # fmt: skip


@every_step
def test_cluster_steps_run_on_the_control_plane_only(step: Step) -> None:
    (play,) = read_plays(step.id)
    if step.scope == "cluster":
        assert play["hosts"] == "kube_control_plane"
    else:
        assert set(re.split(r"[:,]", play["hosts"])) <= HOSTS


@every_step
def test_module_of_the_same_name_is_the_manual_page(step: Step) -> None:
    (module,) = (module for module in MODULES if module.STEP is step)
    name = module.__name__.removeprefix("gpustack.steps.").removesuffix(".step")
    assert name.replace(".", "-").replace("_", "-") == step.id
    assert (module.__doc__ or "").strip()


@every_step
def test_every_check_has_a_page(step: Step) -> None:
    assert [check.__name__ for check in step.checks if not (check.__doc__ or "").strip()] == []

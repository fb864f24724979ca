"""A remedy of the catalogue is a step, or one of five playbooks whose role declares just these parameters."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.judge import Judgement
from gpustack.config.resources import locate_playbooks
from gpustack.doctor.entry import Fault
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import load_graph
from gpustack.remedy.offer import VARIABLE, build_offer
from gpustack.steps import STEPS
from tests.worlds.snapshots import hosts

REMEDY = locate_playbooks() / "remedy"
FIXED_FAULTS = [fault for fault in load_graph().faults.values() if fault.remedy]
PLAYBOOKS = ("unit", "rollout", "sysctl", "drop_in", "apt")
every_playbook = pytest.mark.parametrize("name", PLAYBOOKS)
TYPES: dict[str, type | tuple[type, ...]] = {"str": str, "path": str, "bool": bool, "list": (list, tuple), "dict": dict}


def read_options(name: str) -> dict[str, Any]:
    specs = yaml.safe_load((REMEDY / "roles" / name / "meta" / "argument_specs.yml").read_text())
    options: dict[str, Any] = specs["argument_specs"]["main"]["options"]
    return options


def read_variables(name: str) -> dict[str, str]:
    defaults: dict[str, str] = yaml.safe_load((REMEDY / "roles" / name / "vars" / "main.yml").read_text())
    return defaults


def test_five_remedies_exist() -> None:
    assert sorted(path.stem for path in REMEDY.glob("*.yml")) == sorted(PLAYBOOKS)
    assert sorted(path.name for path in (REMEDY / "roles").iterdir()) == sorted(PLAYBOOKS)


@every_playbook
def test_a_playbook_is_one_play_with_its_role(name: str) -> None:
    (play,) = yaml.safe_load((REMEDY / f"{name}.yml").read_text())
    assert (play["roles"], play["become"], play["gather_facts"]) == ([name], True, False)
    assert play["hosts"] == ("kube_control_plane" if name == "rollout" else "all")


@every_playbook
def test_what_is_declared_is_given(name: str) -> None:
    assert all(option["required"] is True for option in read_options(name).values())
    assert set(read_options(name)) <= set(read_variables(name))
    assert VARIABLE in (REMEDY / "roles" / name / "vars" / "main.yml").read_text()


@pytest.mark.parametrize("fault", FIXED_FAULTS, ids=lambda fault: fault.id)
def test_a_remedy_is_a_step_or_fits_its_playbook(fault: Fault) -> None:
    assert fault.remedy
    if fault.remedy.step:
        assert fault.remedy.step in {step.id for step in STEPS}
        return
    parameters = build_parameters(fault)
    for option, description in read_options(fault.remedy.kind).items():
        key = re.search(rf"{VARIABLE}\.(\w+)", read_variables(fault.remedy.kind)[option])
        if key:
            value = parameters[key[1]]
            assert isinstance(value, TYPES[description["type"]]), option
            assert value in description.get("choices", [value]), option


def build_parameters(fault: Fault) -> dict[str, Any]:
    """Build the parameters as the overlay would have them."""
    root = Finding(fault.id, (Judgement(fault.id, "h1", "failed"),), "certain")
    offer = build_offer(hosts.build_snapshot(), root)
    assert offer.play == f"remedy/{offer.fault.remedy.kind if offer.fault.remedy else ''}"
    variables: dict[str, Any] = next(iter(offer.host_variables.values()))[VARIABLE]
    return variables


@every_playbook
def test_scripts_say_what_they_changed(name: str) -> None:
    for path in sorted((REMEDY / "roles" / name).glob("files/*.sh")):
        assert "changed: " in path.read_text() or path.name == "otherwise.sh"
        assert path.read_text().startswith("#!/bin/sh\n"), Path(path).name

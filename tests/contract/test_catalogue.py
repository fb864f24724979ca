"""The catalogue, its checks and their ids hold together: every id resolves, each has one check or stands in the table
of those without, and what a text advises is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from gpustack.cli.app import app
from gpustack.doctor.catalogue import FOLDER, LAYERS
from gpustack.doctor.check import build_guard_id
from gpustack.doctor.checks import BY_ID, PAIRS
from gpustack.doctor.entry import Fault, State
from gpustack.doctor.graph import load_graph
from gpustack.report.explain.contents import explain_topic, render_contents
from gpustack.report.explain.pages import list_checks, read_error_pages
from gpustack.steps import STEPS

UNIT = Path(__file__).parents[1] / "unit" / "doctor"
WITHOUT_CHECK: dict[str, dict[str, str]] = {
    path.stem: yaml.safe_load(path.read_text()) or {} for path in sorted((UNIT / "without_check").glob("*.yaml"))
}
FAULTS, STATES = load_graph().faults, load_graph().states
ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DISRUPTIVE_STEPS = {"containerd", "monitoring", "gpu-operator", "gpu-driver", "autoscaling", "firewall", "flannel"}
"""Steps that restart containerd, upgrade a Helm release, exchange a driver or load rules anew."""
every_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))


def list_guards() -> set[str]:
    return {build_guard_id(fault.id) for fault in FAULTS.values() if fault.guard}


def list_conditions() -> set[str]:
    return {edge.id for edge in load_graph().edges if edge.condition}


def test_every_file_is_read() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(LAYERS)


def test_the_catalogue_is_whole() -> None:
    edges = sum(1 for _ in load_graph().edges)
    counts = (len(FAULTS), len(STATES), edges, len(list_guards()), len(list_conditions()))
    assert all(count >= floor for count, floor in zip(counts, (157, 39, 405, 15, 30), strict=True)), counts


@every_fault
def test_a_fault_has_its_form(fault: Fault) -> None:
    assert ID.fullmatch(fault.id)
    assert 0 < len(fault.title) <= 60
    assert not fault.title.endswith(".")
    assert fault.cause.endswith(".")
    assert fault.evidence
    assert fault.symptoms
    assert fault.fix.do.endswith(".")
    assert not fault.alias_of or (fault.alias_of in STATES and fault.role == "pointer")


@every_fault
def test_a_remedy_is_one_that_a_machine_can_do(fault: Fault) -> None:
    assert (fault.remediation == "manual") == (fault.remedy is None)
    if fault.remedy:
        assert fault.remedy.kind in ("step", "unit", "rollout", "sysctl", "drop_in", "apt")
        assert not fault.remedy.step or fault.remedy.step in {step.id for step in STEPS}


@every_fault
def test_a_remedy_that_interrupts_or_overrides_is_never_automatic(fault: Fault) -> None:
    """Such a remedy restarts containerd, upgrades a release, starts what a person may have stopped, reloads a unit or
    turns swap off."""
    remedy = fault.remedy
    if remedy is None or fault.remediation != "automatic":
        return
    assert remedy.step not in DISRUPTIVE_STEPS
    assert not remedy.unit
    assert not (remedy.drop_in and remedy.drop_in.reload)
    assert fault.id != "host-swap-on"


@pytest.mark.parametrize("state", STATES.values(), ids=list(STATES))
def test_a_state_has_its_form(state: State) -> None:
    assert state.id.startswith("st-")
    assert 0 < len(state.title) <= 60
    assert state.means.endswith(".")


def test_every_check_tells_something_of_the_catalogue() -> None:
    assert set(BY_ID) - {*FAULTS, *STATES, *list_guards(), *list_conditions()} == set()


def test_every_pair_is_there_and_is_used() -> None:
    assert {edge.pairs for edge in load_graph().edges if edge.pairs} == set(PAIRS)


def test_pairs_join_hosts() -> None:
    odd = [
        edge.id
        for edge in load_graph().edges
        if edge.pairs and {load_graph()[edge.cause].scope, load_graph()[edge.effect].scope} != {"host"}
    ]
    assert odd == []


def test_a_fault_of_a_step_has_no_second_check_and_its_scope() -> None:
    steps = {name: step for name, (step, _) in list_checks().items()}
    by_step = {fault.id: fault.checked_by for fault in FAULTS.values() if fault.checked_by}
    assert set(by_step.values()) <= set(steps)
    assert set(by_step) & set(BY_ID) == set()
    assert [id for id, step_id in by_step.items() if steps[step_id].scope != FAULTS[id].scope] == []


def test_faults_that_steps_name_are_in_the_catalogue_and_refuted_by_the_same_check() -> None:
    folder = Path(__file__).parents[2] / "gpustack" / "steps"
    tested_ids = {id for path in folder.rglob("*.py") for id in re.findall(r'fault="([^"]+)"', path.read_text())}
    assert tested_ids == {fault.id for fault in FAULTS.values() if fault.checked_by}


def list_needed() -> Iterator[str]:
    yield from (id for id, fault in FAULTS.items() if not fault.checked_by and not fault.alias_of)
    yield from STATES
    yield from sorted(list_guards() | list_conditions())


def test_what_has_no_check_is_in_the_table_with_its_reason() -> None:
    """An entry that gets its check leaves the table; one without either is forgotten."""
    listed_ids = {id for table in WITHOUT_CHECK.values() for id in table}
    assert sorted(set(list_needed()) - set(BY_ID)) == sorted(listed_ids)
    assert all(reason.strip() for table in WITHOUT_CHECK.values() for reason in table.values())


def test_checks_have_probes_that_their_registration_names() -> None:
    """Checks that read the snapshot's reach alone have no probes."""
    bare = {id for id, teller in BY_ID.items() if not teller.probes}
    assert bare == {"host-ssh-unreachable", "host-sudo-password", "st-host-unmanaged"}


@pytest.mark.parametrize("id", [*FAULTS, *STATES])
def test_every_entry_has_its_page(id: str) -> None:
    text = explain_topic(id)
    assert f"{id}: " in text
    assert load_graph()[id].title in text


def test_the_list_of_pages_has_them() -> None:
    text = render_contents()
    assert all(f"  {id}\n" in text or f"  {id}  " in text for id in (*FAULTS, *STATES))


@every_fault
def test_commands_of_ours_that_are_advised_exist(fault: Fault) -> None:
    verbs = set(get_command(app).commands)  # type: ignore[attr-defined]
    pages = {*FAULTS, *STATES, *list_checks(), *read_error_pages(), *(step.id for step in STEPS)}
    for line in (*fault.fix.commands, *([fault.fix.do] if "gpustack" in fault.fix.do else [])):
        for verb, rest in re.findall(r"\bgpustack ([a-z]+)((?: [^ ]+)*)", line):
            if line == fault.fix.do and verb not in verbs:
                continue  # a sentence about gpustack
            assert verb in verbs, line
            if verb == "explain":
                assert rest.strip() in pages, line
            if match := re.search(r"--only ([\w,-]+)", rest):
                assert set(match[1].split(",")) <= {step.id for step in STEPS}, line


def test_the_tables_of_tests_know_the_catalogue() -> None:
    cases = yaml.safe_load((UNIT / "discriminators.yaml").read_text())
    assert {entry["state"] for entry in cases} <= set(STATES)
    points = {id for entry in cases for case in entry["cases"] for id in case["points"]}
    assert points <= {*FAULTS, *STATES}
    matrix = yaml.safe_load((UNIT / "probe_matrix.yaml").read_text())
    assert all(len(row) == len(table["columns"]) for table in matrix.values() for row in table["rows"])

"""Severity of root causes: a risk is one as long as nothing suffers from it."""

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.graph import load_graph
from tests.unit.doctor.checks.test_host_disk import build_disk
from tests.worlds.results.diagnoses import make_diagnosis
from tests.worlds.snapshots import cluster


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        ({"host-docker-preinstalled@gpu1": "!docker.io"}, "risk"),
        ({"gpu-ecc-row-remap-pending@gpu1 + st-gpu-unhealthy@gpu1": "!pending"}, "broken"),
        ({"host-swap-on@gpu1": "!/swapfile", "host-swap-on -> st-kubelet-down@gpu1": "!swap"}, "risk"),
        (
            {
                "host-swap-on@gpu1": "!/swapfile",
                "host-swap-on -> st-kubelet-down@gpu1": "!swap",
                "st-kubelet-down@gpu1": "!no answer",
            },
            "broken",
        ),
        ({"host-ip-forward-off@gpu1": "!0"}, "broken"),
        ({"mon-dcgm-profiling-unsupported@gpu1": "!not supported"}, "note"),
    ],
)
def test_a_risk_is_broken_where_its_effect_is_confirmed(values: dict[str, str], severity: str) -> None:
    (root,) = make_diagnosis(values).roots
    assert root.severity == severity


def test_a_harmless_effect_makes_no_risk_a_break() -> None:
    edge = "host-docker-preinstalled -> multiple-cri-sockets@gpu1"
    diagnosis = make_diagnosis({f"host-docker-preinstalled@gpu1 + multiple-cri-sockets@gpu1 + {edge}": "!docker"})
    assert [(root.id, root.severity) for root in diagnosis.roots] == [("host-docker-preinstalled", "risk")]


@pytest.mark.parametrize(
    ("values", "certainty"),
    [
        ({"host-docker-preinstalled@gpu1": "!docker.io"}, "certain"),
        ({"gpu-ecc-row-remap-pending@gpu1 + st-gpu-unhealthy@gpu1": "!pending"}, "likely"),
        (
            {
                "host-swap-on@gpu1": "!/swapfile",
                "host-swap-on -> st-kubelet-down@gpu1": "!swap",
                "st-kubelet-down@gpu1": "!no answer",
            },
            "certain",
        ),
    ],
    ids=["risk-alone", "effect-without-evidence", "effect-with-evidence"],
)
def test_a_risk_is_the_certain_cause_of_an_effect_that_evidence_shows(values: dict[str, str], certainty: str) -> None:
    (root,) = make_diagnosis(values).roots
    assert root.certainty == certainty


def test_a_risk_hides_no_fault_that_no_evidence_joins_to_it() -> None:
    diagnosis = make_diagnosis({"host-docker-preinstalled@gpu1 + forward-policy-drop@gpu1": "!DROP"})
    assert {root.id for root in diagnosis.roots} == {"host-docker-preinstalled", "forward-policy-drop"}


def test_broken_root_causes_come_before_risks() -> None:
    diagnosis = make_diagnosis({"host-swap-on@gpu1 + gpu-fabricmanager-down@gpu1": "!1"})
    assert [root.id for root in diagnosis.roots] == ["gpu-fabricmanager-down", "host-swap-on"]


@pytest.mark.parametrize(("mounts", "severity"), [("/var rw\n", "risk"), ("/var ro\n", "broken")])
def test_errors_of_a_disk_that_is_written_to_are_a_risk(mounts: str, severity: str) -> None:
    errors = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE)\n"
    diagnosis = diagnose(cluster.build_snapshot(build_disk("10 9 0 0", mounts, errors)))
    assert [(root.id, root.severity) for root in diagnosis.roots] == [("host-root-readonly-or-io-errors", severity)]


def test_symptoms_and_harmless_entries_have_no_severity_of_their_own() -> None:
    faults = load_graph().faults.values()
    assert {fault.id for fault in faults if fault.role in ("pointer", "info") and fault.severity != "broken"} == set()

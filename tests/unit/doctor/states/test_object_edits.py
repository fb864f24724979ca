"""Objects of the platform that were changed with kubectl, by the managers of their fields."""

from typing import Any

import pytest

from gpustack.doctor.states.state import AbnormalState
from gpustack.files.json_text import load_json
from gpustack.probes.kubernetes.object_writes import list_paths, prune_fields
from tests.unit.doctor.states.objects import diagnose_items, find_item, format_time, list_states, read_recorded_items
from tests.worlds.snapshots.answers import read_case

PROBE, NAME = "written.monitoring-deployments", "monitoring-kube-state-metrics"


def list_edits(owner_minutes: float = 60, edit_minutes: float = 5, **edit: Any) -> list[AbnormalState]:
    """List the states of the recorded Deployment, which helm and kubectl wrote some minutes ago."""
    item = find_item(read_recorded_items(PROBE, "edited"), NAME)
    for write in item["metadata"]["managedFields"]:
        by_hand = write["manager"] == "kubectl"
        write["time"] = format_time(edit_minutes if by_hand else owner_minutes)
        write.update(edit if by_hand else {})
    return list_states(diagnose_items(written__monitoring_deployments=[item]), "object-edited")


def test_an_object_that_was_changed_after_its_owner_is_a_note_with_the_fields() -> None:
    # kubesphere/kubesphere#6322
    (state,) = list_edits()
    assert (state.severity, state.subjects) == ("note", (f"deployment monitoring/{NAME}",))
    assert state.message == "kubectl changed spec.template.spec.containers[kube-state-metrics].args after helm"
    assert str(state.next_command) == f"kubectl -n monitoring get deployment {NAME} -o yaml"


@pytest.mark.parametrize(
    "case",
    [
        {"owner_minutes": 4, "edit_minutes": 5},
        {"owner_minutes": 3000, "edit_minutes": 2000},
        {"fieldsV1": {"f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:restartedAt": {}}}}}}},
        {"fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}},
        {"manager": "helm"},
    ],
    ids=["written-again", "long-ago", "restarted", "labelled", "by-its-owner"],
)
def test_an_object_as_its_owner_wrote_it_is_no_state(case: dict[str, Any]) -> None:
    assert list_edits(**case) == []


def test_an_object_that_a_person_made_is_no_state() -> None:
    item = find_item(read_recorded_items(PROBE, "edited"), NAME)
    writes = item["metadata"]["managedFields"]
    item["metadata"]["managedFields"] = [write for write in writes if write["manager"] == "kubectl"]
    assert list_states(diagnose_items(written__monitoring_deployments=[item]), "object-edited") == []


def test_paths_name_entries_of_lists_by_their_keys() -> None:
    # sigs.k8s.io/structured-merge-diff fieldpath/serialize.go
    fields = {"f:data": {".": {}, "f:Corefile": {}}, "f:webhooks": {'k:{"name":"a.b"}': {"f:port": {}}, 'v:"x"': {}}}
    assert list(list_paths(fields)) == ["data.Corefile", "webhooks[a.b].port"]


def test_the_fields_of_programs_are_not_recorded() -> None:
    text = read_case(PROBE, "edited").stdout.replace('"manager":"kubectl"', '"manager":"helm"')
    assert "fieldsV1" in text
    assert "fieldsV1" not in prune_fields(text)
    assert load_json(prune_fields(text)).keys() == {"items"}

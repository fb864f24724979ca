"""A user's own objects are no finding: a healthy cluster with them in it (user_objects.yaml) is as healthy."""

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

OWN_OBJECTS = yaml.safe_load((Path(__file__).parent / "user_objects.yaml").read_text())
NODES = ("kube.nodes", CLUSTER)


@cache
def build_healthy() -> Snapshot:
    return base()


def replace_answers(*answers: Answer) -> Snapshot:
    answers_by_place = {(answer.probe, answer.location): answer for answer in answers}
    return replace(build_healthy(), answers={**build_healthy().answers, **answers_by_place})


def extend_list(probe: str, entries: list[Any]) -> Answer:
    """Extend a list of objects or of samples."""
    before = build_healthy().answers.get((probe, CLUSTER), Answer(probe, CLUSTER, 0, '{"items": []}'))
    document = json.loads(before.stdout)
    (document["items"] if "items" in document else document["data"]["result"]).extend(entries)
    return replace(before, stdout=json.dumps(document))


def replace_words(place: str, words: dict[str, str]) -> Answer:
    probe, _, location = place.partition("@")
    answers = build_healthy().answers[probe, location or CLUSTER]
    for old, new in words.items():
        assert old in answers.stdout, f"{probe} does not say {old}"
        answers = replace(answers, stdout=answers.stdout.replace(old, new))
    return answers


def change_node(fields: dict[str, Any]) -> Answer:
    """Change fields in the spec of the worker's node."""
    document = json.loads(build_healthy().answers[NODES].stdout)
    (node,) = (entry for entry in document["items"] if entry["metadata"]["name"] == "k2")
    node["spec"] |= fields["spec"]
    return replace(build_healthy().answers[NODES], stdout=json.dumps(document))


def build_snapshot(values: dict[str, Any]) -> Snapshot:
    answers = [extend_list(probe, entries) for probe, entries in values.get("more", {}).items()]
    answers += [replace_words(place, words) for place, words in values.get("words", {}).items()]
    return replace_answers(*answers, *([change_node(values["node"])] if "node" in values else []))


def list_results(diagnosis: Diagnosis) -> dict[str, set[Any]]:
    return {
        "roots": {root.id for root in diagnosis.roots},
        "unexplained": {symptom.id for symptom in diagnosis.unexplained_symptoms},
        "notes": {note.id for note in diagnosis.verdict.notes},
        "drift": {(drift.step, drift.check) for drift in diagnosis.drift},
        "unknown": {judgement.place for judgement in diagnosis.unknown},
    }


@pytest.mark.parametrize("case", OWN_OBJECTS)
def test_a_users_own_is_no_finding(case: str) -> None:
    results, calm = list_results(diagnose(build_snapshot(OWN_OBJECTS[case]))), list_results(diagnose(build_healthy()))
    assert results == calm | {"notes": calm["notes"] | set(OWN_OBJECTS[case].get("notes", ()))}


def move_namespace(text: str) -> str:
    return text.replace('"shop"', '"monitoring"')


@pytest.mark.parametrize(
    ("case", "finding"),
    [
        ("a typing mistake in an image", "image-registry-down-or-not-found"),
        ("a node-exporter of theirs that finds the port taken", "mon-node-exporter-port-other-pod"),
        ("a monitor of theirs that the operator leaves out", "mon-operator-rejected-object"),
    ],
)
def test_the_same_in_a_namespace_of_ours_is_one(case: str, finding: str) -> None:
    """So that the entries say what they should."""
    document = json.loads(move_namespace(json.dumps(OWN_OBJECTS[case])))
    assert {root.id for root in diagnose(build_snapshot(document)).roots} == {finding}

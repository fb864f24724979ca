"""Complaints of people are told apart: each of the possible root causes differs from the others (complaints.yaml)."""

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
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import read_case
from tests.worlds.snapshots.healthy import build_healthy_snapshot as base
from tests.worlds.snapshots.healthy import replace_addresses

COMPLAINTS = yaml.safe_load((Path(__file__).parent / "complaints.yaml").read_text())
HOSTS = ("k1", "k2")
CAUSES = [(complaint, cause) for complaint, causes in COMPLAINTS.items() for cause in causes]


@cache
def build_healthy() -> Snapshot:
    """Build a healthy snapshot with what kubeadm leaves on a host that belongs to the cluster."""
    answers = base()
    joined_hosts = [
        replace_addresses(replace(read_case("leftovers.kubernetes", "worker-of-ours"), location=host)) for host in HOSTS
    ]
    return replace(
        answers, answers={**answers.answers, **{(answer.probe, answer.location): answer for answer in joined_hosts}}
    )


def change_answer(values: dict[str, Any]) -> Answer:
    probe, location = values["probe"], values["where"]
    before = build_healthy().answers.get((probe, location), Answer(probe, location, 0, ""))
    if "case" not in values:
        return replace_words(before, values["words"])
    of_nodes = probe == "gpu.nodes"
    answer = gpus.read_answers(probe, values["case"])[probe, CLUSTER] if of_nodes else read_case(probe, values["case"])
    changed_answer = replace_words(replace_addresses(replace(answer, location=location)), values.get("words", {}))
    return (
        replace(changed_answer, stdout=merge_lists(before.stdout, changed_answer.stdout, values["only"]))
        if "only" in values
        else changed_answer
    )


def replace_words(answer: Answer, words: dict[str, str]) -> Answer:
    stdout = answer.stdout
    for old, new in words.items():
        assert old in stdout, f"{answer.probe} does not say {old}"
        stdout = stdout.replace(old, new)
    return replace(answer, stdout=stdout)


def merge_lists(before: str, after: str, word: str) -> str:
    """Merge into a list the entries of another one that hold `word`."""
    further_entries = [entry for entry in json.loads(after)["items"] if word in json.dumps(entry)]
    assert further_entries, word
    return json.dumps({"items": [*json.loads(before)["items"], *further_entries]})


def build_snapshot(cause: dict[str, Any]) -> Snapshot:
    answers = {(answer.probe, answer.location): answer for answer in map(change_answer, cause.get("answers", ()))}
    snapshot = replace(build_healthy(), answers={**build_healthy().answers, **answers})
    if not cause.get("alone"):
        return snapshot
    planes = snapshot.inventory.control_planes
    return replace(
        snapshot,
        inventory=replace(snapshot.inventory, hosts=planes),
        reach={host.name: snapshot.reach[host.name] for host in planes},
        answers={key: answer for key, answer in snapshot.answers.items() if key[1] in (CLUSTER, planes[0].name)},
    )


def test_without_a_fault_there_is_none() -> None:
    diagnosis = diagnose(build_healthy())
    assert (diagnosis.roots, diagnosis.unexplained_symptoms) == ((), ())


@pytest.mark.parametrize(
    ("complaint", "cause"), CAUSES, ids=[f"{complaint_text}: {cause['root']}" for complaint_text, cause in CAUSES]
)
def test_exactly_its_root_is_named_and_others_are_ruled_out(complaint: str, cause: dict[str, Any]) -> None:
    diagnosis = diagnose(build_snapshot(cause))
    assert [finding.id for finding in diagnosis.roots] == [cause["root"]], complaint
    assert diagnosis.unexplained_symptoms == ()
    assert set(cause.get("breaks", ())) <= {judgement.id for judgement in diagnosis.roots[0].impact}
    assert bool(diagnosis.roots[0].ruled_out) is not cause.get("nothing_else_told", False)

"""What people complain of, by name: each of its possible root causes differs from the others (complaints.yaml)."""

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
from tests.worlds import gpus
from tests.worlds.cases import recorded
from tests.worlds.healthy import healthy as base
from tests.worlds.healthy import same_addresses

COMPLAINTS = yaml.safe_load((Path(__file__).parent / "complaints.yaml").read_text())
HOSTS = ("k1", "k2")
CAUSES = [(complaint, cause) for complaint, causes in COMPLAINTS.items() for cause in causes]


@cache
def healthy() -> Snapshot:
    """With what kubeadm leaves on a host that belongs to the cluster."""
    made = base()
    joined = [same_addresses(replace(recorded("leftovers.kubernetes", "worker-of-ours"), where=one)) for one in HOSTS]
    return replace(made, answers={**made.answers, **{(one.probe, one.where): one for one in joined}})


def changed(values: dict[str, Any]) -> Answer:
    probe, where = values["probe"], values["where"]
    before = healthy().answers.get((probe, where), Answer(probe, where, 0, ""))
    if "case" not in values:
        return worded(before, values["words"])
    of_nodes = probe == "gpu.nodes"
    answer = gpus.here(probe, values["case"])[probe, CLUSTER] if of_nodes else recorded(probe, values["case"])
    found = worded(same_addresses(replace(answer, where=where)), values.get("words", {}))
    return replace(found, out=merged(before.out, found.out, values["only"])) if "only" in values else found


def worded(answer: Answer, words: dict[str, str]) -> Answer:
    out = answer.out
    for old, new in words.items():
        assert old in out, f"{answer.probe} does not say {old}"
        out = out.replace(old, new)
    return replace(answer, out=out)


def merged(before: str, after: str, only: str) -> str:
    """The list as it was, with the entries of the other one that hold `only`."""
    more = [entry for entry in json.loads(after)["items"] if only in json.dumps(entry)]
    assert more, only
    return json.dumps({"items": [*json.loads(before)["items"], *more]})


def world(cause: dict[str, Any]) -> Snapshot:
    answers = {(answer.probe, answer.where): answer for answer in map(changed, cause.get("answers", ()))}
    found = replace(healthy(), answers={**healthy().answers, **answers})
    if not cause.get("alone"):
        return found
    planes = found.inventory.control_planes
    return replace(
        found,
        inventory=replace(found.inventory, hosts=planes),
        reach={host.name: found.reach[host.name] for host in planes},
        answers={key: answer for key, answer in found.answers.items() if key[1] in (CLUSTER, planes[0].name)},
    )


def test_without_a_fault_there_is_none() -> None:
    found = diagnose(healthy())
    assert (found.roots, found.unexplained) == ((), ())


@pytest.mark.parametrize(("complaint", "cause"), CAUSES, ids=[f"{one}: {cause['root']}" for one, cause in CAUSES])
def test_exactly_its_root_is_named_and_others_are_ruled_out(complaint: str, cause: dict[str, Any]) -> None:
    found = diagnose(world(cause))
    assert [one.id for one in found.roots] == [cause["root"]], complaint
    assert found.unexplained == ()
    assert set(cause.get("breaks", ())) <= {one.id for one in found.roots[0].impact}
    assert bool(found.roots[0].ruled_out) is not cause.get("nothing_else_told", False)

"""Parsers meet what no tool should answer: a fact of the declared type comes out, or none. Nothing else is raised.
`--hypothesis-profile=hostile` asks 10,000 cases of each parser, the same ones every time (`make lab-test` does)."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings

from gpustack.ask.probe import Answer, FactUnavailable, Lines, Probe, Shell
from gpustack.ask.type_check import fits, resolve_return_type
from gpustack.doctor.diagnose import list_probes
from gpustack.engines.engine import PROBES as OF_ENGINES
from gpustack.health.host_answers import HOST_SOURCE_PROBES
from gpustack.nodes.removal_plan import PROBES as OF_REMOVALS
from gpustack.probes.containerd.pull_progress import PULL_PROGRESS
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.host.unrecorded_paths import UNRECORDED_PATHS
from gpustack.probes.kubernetes.container_logs import LAST_LINES
from gpustack.probes.kubernetes.live_controllers import LIVE_CONTROLLERS
from gpustack.proof.inventory import PROBES as OF_PROOF
from gpustack.proof.services import ACCESS_PROBES
from gpustack.rollout.removal import PROBES as OF_RESET
from gpustack.steps import PROBES as OF_STEPS
from tests.unit.hostile.answers import MESSAGES, build_hostile_answer, list_recorded
from tests.unit.hostile.profile import BATCH, CASES, LIMIT, SEED
from tests.worlds.snapshots.answers import index_probes

pytestmark = pytest.mark.timeout(LIMIT)
OF_NODES = (*OF_REMOVALS, BOOT_IDENTITY, LIVE_CONTROLLERS)
OTHER_PROBES: tuple[Probe[Any], ...] = (PULL_PROGRESS, UNRECORDED_PATHS, LAST_LINES, *HOST_SOURCE_PROBES)
ALL_PROBES = (*OF_STEPS, *list_probes(), *OF_RESET, *OF_PROOF, *ACCESS_PROBES, *OF_ENGINES, *OF_NODES, *OTHER_PROBES)
PROBES = tuple({probe.id: probe for probe in ALL_PROBES}.values())


def test_no_parser_is_forgotten() -> None:
    assert {probe.id for probe in PROBES} == set(index_probes())
    assert [probe.id for probe in PROBES if not list_recorded(probe.id)] == []
    assert [probe.id for probe in PROBES if resolve_return_type(probe.parse) is Any] == []


def test_what_prints_lines_says_so() -> None:
    """crictl and the kubelet end without a newline; a cut answer of theirs is no JSON, and not `ok`."""
    shells = {
        probe.id for probe in PROBES if isinstance(probe.question, Shell) and not isinstance(probe.question, Lines)
    }
    assert shells == {"containerd.runtime", "kubelet.health"}


def is_fact_or_none(probe: Probe[Any], answer: Answer) -> bool:
    """Tell whether an answer is a fact of the declared type and of a status that has one, or none."""
    try:
        fact = probe.extract_fact(answer)
    except FactUnavailable:
        return True
    return fits(fact, resolve_return_type(probe.parse)) and answer.rc in probe.exit_codes


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.id)
def test_every_message_is_a_fact_or_none_with_every_status(probe: Probe[Any]) -> None:
    """Among them are JSON and YAML nested 5,000 deep, and YAML that stands for a document of gigabytes."""
    for message, rc in product(MESSAGES, {*probe.exit_codes, 1, 255}):
        assert is_fact_or_none(probe, Answer(probe.id, "host1", rc, message, "not found\n"))


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.id)
@settings(CASES)
@given(seed=SEED)
def test_a_spoiled_answer_is_a_fact_of_its_type_or_none(probe: Probe[Any], seed: int) -> None:
    for index in range(seed * BATCH, (seed + 1) * BATCH):
        assert is_fact_or_none(probe, build_hostile_answer(probe.id, index)), index

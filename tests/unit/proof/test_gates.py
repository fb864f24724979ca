"""A proof opens the gates of nodes whose every GPU it proved, and names those that stay closed."""

import pytest

from gpustack.proof.pod import ApiRefused
from gpustack.proof.prove import Proof
from tests.unit.proof.proof_inputs import UUIDS, build_refusal, place
from tests.unit.proof.test_prove import World


@pytest.fixture
def world() -> World:
    return World()


def prove_gates(world: World, **gates: str) -> Proof:
    world.nodes.gates = dict(gates)
    return world.prove(places=tuple(place(node, gate=gates.get(node)) for node in ("gpu1", "gpu2")))


def test_a_proven_node_opens_its_gate(world: World) -> None:
    proof = prove_gates(world, gpu1="reboot", gpu2="")
    assert (proof.warnings, world.nodes.gates, proof.exit_status) == ((), {}, 0)
    assert [event.subject for event in world.events if event.kind == "changed"] == ["gpu1", "gpu2"]


def test_a_node_with_an_unproven_gpu_keeps_its_gate(world: World) -> None:
    world.prometheus.late = {UUIDS[3]}
    proof = prove_gates(world, gpu1="reboot", gpu2="reboot")
    assert proof.warnings == ("gpu2 stays behind the gate: not every GPU of it is proven",)
    assert world.nodes.gates == {"gpu2": "reboot"}


def test_a_node_with_a_gpu_in_use_keeps_its_gate(world: World) -> None:
    world.nodes.gates = {"gpu1": "reboot"}
    proof = world.prove(places=(place("gpu1", busy=1, gate="reboot"), place("gpu2")))
    assert proof.warnings == ("gpu1 stays behind the gate: not every GPU of it is proven",)


def test_after_a_reset_the_diagnostic_comes_first(world: World) -> None:
    proof = prove_gates(world, gpu1="reset")
    assert proof.warnings == ("gpu1 stays behind the gate: its GPUs were reset, and gpustack gpu diag comes first",)


def test_a_gate_that_the_api_keeps_is_reported(world: World) -> None:
    world.nodes.refuse = build_refusal("gate", ApiRefused("the API was not reached"))
    assert prove_gates(world, gpu1="reboot").warnings == ("gpu1 stays behind the gate: the API was not reached",)


def test_an_interrupted_proof_opens_no_gate(world: World) -> None:
    world.stop = "interrupted"
    assert (prove_gates(world, gpu1="reboot").stop_reason, world.nodes.gates) == ("interrupted", {"gpu1": "reboot"})

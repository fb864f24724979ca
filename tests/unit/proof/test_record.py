"""The record of proven GPUs on their nodes."""

from gpustack.probes.kubernetes.node_records import ProvenGpus, parse_proven_gpus
from gpustack.proof.pod import ApiRefused
from tests.unit.proof.proof_inputs import UUIDS, build_refusal, place
from tests.unit.proof.test_prove import World


def test_the_proven_gpus_are_recorded_on_their_nodes() -> None:
    world = World()
    proof = world.prove()
    records = {node: parse_proven_gpus(text) for node, text in world.nodes.records.items()}
    moment = proof.started_at.replace(microsecond=0)
    assert records == {
        "gpu1": ProvenGpus(moment, frozenset(UUIDS[:2])),
        "gpu2": ProvenGpus(moment, frozenset(UUIDS[2:])),
    }
    assert world.nodes.proven_at == dict.fromkeys(("gpu1", "gpu2"), proof.started_at)
    assert proof.warnings == ()


def test_a_node_whose_gpus_were_not_all_proven_keeps_its_record() -> None:
    """A GPU of the first is in use, and one of the second has no series."""
    world = World()
    world.prometheus.late = {UUIDS[3]}
    world.prove(places=(place("gpu1", busy=1), place("gpu2")))
    assert (world.nodes.records, world.nodes.proven_at) == ({}, {})


def test_a_record_that_is_refused_is_told_and_the_proof_holds() -> None:
    world = World()
    world.nodes.refuse = build_refusal("mark", ApiRefused("nodes is forbidden"))
    proof = world.prove()
    assert proof.warnings == (
        "which GPUs of gpu1 are proven was not recorded on it: nodes is forbidden",
        "which GPUs of gpu2 are proven was not recorded on it: nodes is forbidden",
    )
    assert proof.exit_status == 0


def test_a_lease_that_is_refused_is_told_and_the_record_stays() -> None:
    world = World()
    world.nodes.refuse = build_refusal("lease", ApiRefused("leases is forbidden"))
    proof = world.prove()
    assert proof.warnings == tuple(
        f"when {node} was proven was not recorded in a Lease, so Prometheus does not know it: leases is forbidden"
        for node in ("gpu1", "gpu2")
    )
    assert (set(world.nodes.records), proof.exit_status) == ({"gpu1", "gpu2"}, 0)

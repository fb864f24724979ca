"""A cordon is gpustack's by the record on the node and by who set the field last."""

import pytest

from gpustack.errors import RolloutError
from gpustack.nodes.cordon import classify_cordon
from gpustack.nodes.node_change import NodeWriter
from gpustack.nodes.node_host import require_node, require_node_name
from gpustack.nodes.uncordon import refuse_foreign_cordon, uncordon_node
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, Cordon, parse_cordon
from tests.worlds.programs.node_api import HOSTS, NodeApi
from tests.worlds.snapshots.answers import read_case


@pytest.mark.parametrize(
    ("case", "owner"),
    [("schedulable", "none"), ("cordoned-by-gpustack", "gpustack"), ("cordoned-again-by-a-person", "others")],
)
def test_the_last_who_cordoned_owns_the_cordon(case: str, owner: str) -> None:
    node, _ = NODE_RECORDS.extract_fact(read_case(NODE_RECORDS.id, case))
    assert classify_cordon(node) == owner


@pytest.mark.parametrize(("manager", "record"), [("gpustack-nodes", ""), ("kubectl", "{}"), ("", "{}")])
def test_without_both_traces_the_cordon_is_somebody_elses(api: NodeApi, manager: str, record: str) -> None:
    api.set_cordon(manager, record)
    snapshot = api.gather()
    with pytest.raises(RolloutError) as failure:
        refuse_foreign_cordon(snapshot, require_node(snapshot, "gpu1"))
    assert failure.value.reference == "node-cordon-foreign"
    assert failure.value.hint.startswith("gpustack node uncordon gpu1 -i hosts.yml --foreign")


def test_an_uncordon_removes_the_record_too(api: NodeApi) -> None:
    api.set_cordon("gpustack-nodes", '{"who": "ann", "at": "2026-11-30T00:00:00+00:00"}')
    snapshot = api.gather()
    node = require_node(snapshot, "gpu1")
    refuse_foreign_cordon(snapshot, node)
    writer = NodeWriter(HOSTS[0], api.execute)
    assert uncordon_node(writer, "gpu1", lambda: require_node(api.gather(), "gpu1")).changed
    assert (api.read_node()["spec"], api.read_node()["metadata"]["annotations"]) == ({}, {})


def test_an_uncordon_of_an_older_version_is_refused(api: NodeApi) -> None:
    api.set_cordon("gpustack-nodes", "{}")
    node = require_node(api.gather(), "gpu1")
    writer = NodeWriter(HOSTS[0], api.execute)
    uncordon_node(writer, "gpu1", lambda: node)
    with pytest.raises(RolloutError, match="was not changed"):
        uncordon_node(writer, "gpu1", lambda: node)


@pytest.mark.parametrize("text", ["", "x", "[]", '{"at": "today"}', "[" * 2000])
def test_a_text_that_is_no_record_describes_nobody(text: str) -> None:
    assert parse_cordon(text) is None


def test_a_time_without_a_time_zone_is_none() -> None:
    assert parse_cordon('{"who": "ann", "at": "2026-11-30T00:00:00"}') == Cordon("ann", None)


@pytest.mark.parametrize("name", ["", "gpu1 k1", "gpu1%2C", "-a", "GPU1", 'x"y', "a/../b"])
def test_a_text_that_no_node_can_have_as_its_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a node"):
        require_node_name(name)

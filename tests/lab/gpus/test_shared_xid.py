"""An Xid that three nodes report at once is the job's or the fabric's: no verdict asks for an act on a GPU, and `care`,
which may cordon, cordons nothing. test_remediate.py has the same Xid on one node, which is cordoned."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.gpus.test_nodes import read_node
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NODES = ["host1", "host2", "host3"]


@pytest.fixture(scope="module")
def three(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    running_lab = make_lab("shared-xid", ["debian-12"] * len(NODES), monitored=True, gpus="1")
    roads.merge_spec(running_lab, care={"cordon": True})
    gpustack("install", "-i", running_lab.inventory, "--yes", limit=1800)
    return running_lab


def read_health(three: lab.Lab, gpustack: Run) -> dict[str, Any]:
    words = ("gpu", "health", "-i", three.inventory, "-o", "json", "-q")
    document: dict[str, Any] = json.loads(gpustack(*words, code=None).stdout)
    return document


# Xid 45 is of an application. Xid 48 of one node asks for a reset.
@pytest.mark.parametrize("xid", [45, 48])
def test_three_nodes_with_one_xid_are_one_incident_and_stay_in_service(xid: int, three: lab.Lab, gpustack: Run) -> None:
    for node in NODES:
        three.set_gpu(f"{node}:0", f"xid={xid}")
    try:

        def find_incident() -> dict[str, Any] | None:
            document = read_health(three, gpustack)
            nodes = {incident["xid"]: incident["node_names"] for incident in document["incidents"]}
            return document if nodes.get(xid) == NODES else None

        document = wait_until("the incident", find_incident, limit=300)
        assert {gpu["health"] for gpu in document["gpus"]} <= {"ok", "watch", "restart-app"}
        care = json.loads(gpustack("care", "-i", three.inventory, "-o", "json", "-q", code=None).stdout)
        assert [node for node in care["nodes"] if node["rung"]] == []
        assert [read_node(three, node) for node in NODES] == [(False, set())] * len(NODES)
    finally:
        for node in NODES:
            three.set_gpu(node, "recover")

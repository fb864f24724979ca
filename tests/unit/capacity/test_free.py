"""A GPU that stays free has its reason."""

import pytest

from gpustack.capacity.free_units import Node, find_common_unit, find_free

GPU, GIB = "nvidia_com_gpu", 2**30


def build_node(free: float = 4, **fields: object) -> Node:
    node = Node({GPU: 8, "cpu": 16, "memory": 64 * GIB}, {GPU: 8 - free, "cpu": 8}, {GPU: 1.0}, ready=True)
    for name, value in fields.items():
        setattr(node, name, value)
    return node


@pytest.mark.parametrize(
    ("node", "pods", "usable", "reason"),
    [
        (build_node(), {}, True, "no pod waits for them"),
        (build_node(cordoned=True), {"a/p": {GPU: 1}}, False, "cordoned"),
        (build_node(ready=False), {"a/p": {GPU: 1}}, False, "the node is not ready"),
        (build_node(), {"a/p": {GPU: 8}, "a/q": {GPU: 5}}, False, "too few on one node: pods that wait want 5 or more"),
        (build_node(), {"a/p": {GPU: 4, "cpu": 12}}, False, "a/p would fit, but for 12 CPUs, of which 8.0 are free"),
        (
            build_node(),
            {"a/p": {GPU: 4, "memory": 65 * GIB}},
            False,
            "a/p would fit, but for 65.0 GiB, of which 64.0 are free",
        ),
        (
            build_node(),
            {"a/p": {GPU: 2, "cpu": 8}},
            True,
            "a/p would fit: its selectors, tolerations or quota keep it away, or it is new",
        ),
        (build_node(), {"a/p": {"nvidia_com_mig_1g_10gb": 1}}, True, "no pod waits for them"),
    ],
)
def test_a_free_gpu_has_its_reason(node: Node, pods: dict[str, dict[str, float]], usable: bool, reason: str) -> None:
    (free,) = find_free({"n": node}, pods)
    assert (free.units, free.usable, free.reasons) == (4, usable, (reason,))


def test_a_taint_is_named_but_for_that_of_gpus() -> None:
    node = build_node(taints=["nvidia.com/gpu=present", "dedicated=team-a"])
    (free,) = find_free({"n": node}, {})
    assert free.reasons == ("only for pods that tolerate dedicated=team-a", "no pod waits for them")


def test_a_full_node_has_nothing_free() -> None:
    assert list(find_free({"n": build_node(0)}, {})) == []


def test_a_unit_is_known_where_all_nodes_have_the_same() -> None:
    alike_nodes = [build_node(gpus_per_unit={GPU: share}) for share in (1 / 3, 0.333333333)]
    assert find_common_unit([*alike_nodes, Node({"cpu": 8})], GPU) == 0.333
    assert find_common_unit([*alike_nodes, build_node()], GPU) is None
    assert find_common_unit([*alike_nodes, build_node(gpus_per_unit={})], GPU) is None
    assert find_common_unit([], GPU) is None

"""The graph knows ancestors and descendants, and refuses what is malformed."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.doctor.catalogue import build_layer
from gpustack.doctor.entry import Edge, Group, Layer, Remedy
from gpustack.doctor.graph import join_layers
from tests.worlds.results.graphs import build_entry, build_fault, build_graph


def test_ancestors_and_descendants_are_found() -> None:
    graph = build_graph(["a -> b", "b -> st-c", "x -> st-c"])
    assert graph.find_ancestors("st-c") == {"a", "b", "x"}
    assert graph.find_descendants("a") == {"b", "st-c"}
    assert graph.order.index("a") < graph.order.index("b") < graph.order.index("st-c")
    assert {edge.id for edge in graph.edges} == {"a -> b", "b -> st-c", "x -> st-c"}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"edges": (Edge("a", "nobody"),)}, "a -> nobody: unknown id"),
        ({"edges": (Edge("a", "b"), Edge("a", "b"))}, "a -> b: there twice"),
        ({"edges": (Edge("a", "b"), Edge("b", "a"))}, "a cycle"),
        ({"faults": (build_fault("a"), build_fault("a"))}, "a: there twice"),
        ({"groups": (Group(("a", "nobody"), "one act"),)}, "one act: unknown id"),
        ({"odd": ("a -> b",)}, "a -> b: not a conditional edge"),
    ],
)
def test_a_malformed_graph_is_refused(wrong: dict[str, Any], text: str) -> None:
    valid_graph: dict[str, Any] = {
        "faults": (build_fault("a"), build_fault("b")),
        "states": (),
        "edges": (),
        "groups": (),
    }
    with pytest.raises(ValueError, match=text):
        join_layers([Layer("host", **{**valid_graph, **wrong})])


def test_a_guard_belongs_to_a_conditional_fault_alone() -> None:
    bare = replace(build_fault("a", "conditional"), guard="")
    with pytest.raises(ValueError, match="a: guard"):
        join_layers([Layer("host", (bare,), (), (), ())])


def test_files_are_joined() -> None:
    first_entry, two = build_entry("a"), build_entry("b")
    files = [Layer("host", (first_entry,), (), (Edge("a", "b"),), ()), Layer("cni", (two,), (), (), ())]  # type: ignore[arg-type]
    assert join_layers(files).find_descendants("a") == {"b"}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"fault": []}, "unknown keys"),
        ({"faults": [{"id": "a"}]}, "host: a: (?s:.*)(missing|required)"),
        ({"faults": [{"id": "a", "layer": "host"}]}, "host: a: the name of the file is the layer"),
        ({"states": {"st-a": {"lab": "stop sshd"}}}, "host: st-a: (?s:.*)lab"),
        ({"graph": ["a -> b?"]}, "no condition"),
    ],
)
def test_a_file_of_another_form_is_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        build_layer("host", values)


def test_conditions_and_pairs_without_their_edge_are_reported() -> None:
    values = {"graph": ["a -> b"], "graph_conditions": {"a -> b": "it is so"}, "graph_pairs": {"a -> c": "every-host"}}
    assert build_layer("host", values).odd == ("a -> b", "a -> c")


def test_a_remedy_is_one_thing() -> None:
    assert Remedy(step="prereqs").kind == "step"
    with pytest.raises(ValueError, match="values to unpack"):
        _ = Remedy(step="prereqs", sysctl={"net.ipv4.ip_forward": "1"}).kind

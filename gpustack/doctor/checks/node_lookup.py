"""What a list of the cluster has of this host's node, looked up: each host would otherwise go through all of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.steps.own_node import own

Kind = TypeVar("Kind")


def node_of(one: Any) -> str:
    return str(one.node)


def on_own_node(here: View, probe: Probe[tuple[Kind, ...]]) -> Sequence[Kind]:
    """Those of a probe of the cluster; none where the host is no node."""
    node = own(here)
    return on_node(here, probe, node.name if node else "")


def on_node(
    here: View, probe: Probe[tuple[Kind, ...]], name: str, key: Callable[[Kind], str] = node_of
) -> Sequence[Kind]:
    """`key` says which node one of them is of."""
    by_node = here.once(listed_by_node, probe, key)
    return by_node.get(name, ()) if name else ()


def listed_by_node(
    here: View, probe: Probe[tuple[Kind, ...]], key: Callable[[Kind], str]
) -> Mapping[str, Sequence[Kind]]:
    found: dict[str, list[Kind]] = {}
    for one in here[probe]:
        found.setdefault(key(one), []).append(one)
    return found

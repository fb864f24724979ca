"""The nodes whose GPUs are loaded."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from gpustack.burn.watch import Watcher, require_temperatures
from gpustack.engines.engine import Engines
from gpustack.errors import MissingDataError, UsageError


def choose_nodes(idle: Engines, uuids: Collection[str], watcher: Watcher | None, *, several: bool) -> Engines:
    """Choose the nodes of these GPUs, or all nodes of --node, or else the node with the most free GPUs. Raise
    UsageError for an unknown GPU, where no GPU is free, and where a temperature that has to be known is not."""
    engines = idle
    if uuids:
        engines = choose_nodes_of_gpus(idle, uuids, watcher.map_nodes() if watcher else {})
    elif not several:
        engines = replace(idle, members=(max(idle.members, key=lambda engine: engine.free),), unread={})
    if watcher and not watcher.blind:
        gpu_counts = {engine.node: engine.gpus for engine in engines.members}
        require_temperatures(watcher.ask, gpu_counts, watcher.temperature_limit)
    return engines


def choose_nodes_of_gpus(idle: Engines, uuids: Collection[str], nodes_by_uuid: Mapping[str, str]) -> Engines:
    if unknown_uuids := [uuid for uuid in uuids if uuid not in nodes_by_uuid]:
        message, reason = f"There is no GPU {', '.join(unknown_uuids)}.", "Prometheus has no metrics of it."
        raise UsageError("gpu-no-gpu", message, reason)
    nodes = {nodes_by_uuid[uuid] for uuid in uuids}
    engines = tuple(engine for engine in idle.members if engine.node in nodes)
    missing = {
        node: idle.unread.get(node, "it was not named, or has no GPUs")
        for node in sorted(nodes - {engine.node for engine in engines})
    }
    if not engines:
        reason = "\n".join(f"{node}: {cause}" for node, cause in missing.items())
        raise MissingDataError("gpu-none-free", "No GPU is free; nothing was done.", reason)
    return replace(idle, members=engines, unread=missing)

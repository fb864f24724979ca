"""Values of marks in a host engine, and dcgmi's words that set them again.

dcgmi sets all GPUs of a node at once (DCGM 4.6.0, dcgmi/CommandLineParser.cpp, --group of `config` and `policy`), so
the value of a node can be reverted where its GPUs had the same.
"""

from collections.abc import Callable, Mapping

from gpustack.engines.listings import MEMORY_CLOCK, POWER_LIMIT, SM_CLOCK, Listing, Policy, Setting
from gpustack.engines.policies import build_policy_options, translate_policy
from gpustack.probes.gpu import temporary_changes
from gpustack.probes.gpu.temporary_changes import VALUES

SETTINGS = {temporary_changes.POWER_LIMIT: (POWER_LIMIT,), temporary_changes.CLOCKS: (MEMORY_CLOCK, SM_CLOCK)}
WORDS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    temporary_changes.PROFILING: lambda _: ("profile", "--resume"),
    temporary_changes.POLICY: build_policy_options,
    temporary_changes.POWER_LIMIT: lambda watts: ("config", "--set", "--powerlimit", watts),
    temporary_changes.CLOCKS: lambda clocks: ("config", "--set", "--appclocks", clocks),
}


def extract_values(kind: str, listing: Listing, node: str) -> Mapping[str, str]:
    """Extract the values in force on each GPU of a node; a value that cannot be set again is in dcgmi's words."""
    rows = [row for row in listing.rows if row.node == node]
    if kind == temporary_changes.POLICY:
        return {row.gpu: describe_policy(row) for row in rows if isinstance(row, Policy)}
    parts = [row for row in rows if isinstance(row, Setting)]
    by_gpu = {gpu: {row.setting: row.current for row in parts if row.gpu == gpu} for gpu in {row.gpu for row in parts}}
    return {gpu: ",".join(has.get(name, "") for name in SETTINGS[kind]) for gpu, has in sorted(by_gpu.items())}


def describe_policy(row: Policy) -> str:
    try:
        return translate_policy(row.conditions, row.action, row.validation)
    except (KeyError, ValueError):
        return ", ".join((*row.conditions, row.action, row.validation))


def find_former(kind: str, values: Mapping[str, str], earlier: temporary_changes.Mark | None) -> str:
    """Find the value to revert to: the one before an earlier temporary change of gpustack, or else the one in force.
    Raise ValueError where there is no such value."""
    set_values = earlier.values if earlier else ()
    former = {earlier.former if earlier and value in set_values else value for value in values.values()}
    if len(former) == 1 and VALUES[kind].fullmatch(former_value := next(iter(former))):
        return former_value
    raise ValueError("; ".join(f"GPU {gpu}: {value or 'none'}" for gpu, value in values.items()) or "no GPU was named")

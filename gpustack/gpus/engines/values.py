"""What a mark's values are in a host engine: where they are read, and dcgmi's words that set them again.

dcgmi sets all GPUs of a node at once (DCGM 4.6.0, dcgmi/CommandLineParser.cpp, --group of `config` and `policy`), so
one value of a node can be put back where its GPUs had the same.
"""

from collections.abc import Callable, Mapping

from gpustack.gpus.engines.listings import MEMORY_CLOCK, POWER_LIMIT, SM_CLOCK, Listing, Policy, Setting
from gpustack.gpus.engines.policies import policy_words, read_policy
from gpustack.probes.gpu import temporary
from gpustack.probes.gpu.temporary import VALUES

SETTINGS = {temporary.POWER_LIMIT: (POWER_LIMIT,), temporary.CLOCKS: (MEMORY_CLOCK, SM_CLOCK)}
WORDS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    temporary.PROFILING: lambda _: ("profile", "--resume"),
    temporary.POLICY: policy_words,
    temporary.POWER_LIMIT: lambda watts: ("config", "--set", "--powerlimit", watts),
    temporary.CLOCKS: lambda clocks: ("config", "--set", "--appclocks", clocks),
}


def read_values(what: str, found: Listing, node: str) -> Mapping[str, str]:
    """In force on each GPU of a node; where it is no value that could be set, in dcgmi's words."""
    rows = [row for row in found.rows if row.node == node]
    if what == temporary.POLICY:
        return {row.gpu: policy_of(row) for row in rows if isinstance(row, Policy)}
    parts = [row for row in rows if isinstance(row, Setting)]
    by_gpu = {gpu: {row.setting: row.current for row in parts if row.gpu == gpu} for gpu in {row.gpu for row in parts}}
    return {gpu: ",".join(has.get(name, "") for name in SETTINGS[what]) for gpu, has in sorted(by_gpu.items())}


def policy_of(row: Policy) -> str:
    try:
        return read_policy(row.conditions, row.action, row.validation)
    except (KeyError, ValueError):
        return ", ".join((*row.conditions, row.action, row.validation))


def find_former(what: str, values: Mapping[str, str], earlier: temporary.Mark | None) -> str:
    """What to put back: where gpustack has changed it for a time before, what was in force before that. Raises
    ValueError where there is no such value."""
    ours = earlier.values if earlier else ()
    former = {earlier.former if earlier and value in ours else value for value in values.values()}
    if len(former) == 1 and VALUES[what].fullmatch(one := next(iter(former))):
        return one
    raise ValueError("; ".join(f"GPU {gpu}: {value or 'none'}" for gpu, value in values.items()) or "no GPU was named")

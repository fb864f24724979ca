"""Titles of classes that name GPUs and values."""

from collections.abc import Sequence

from gpustack.events import format_count
from gpustack.profile.peers import SLOWDOWN, Outlier, choose_outliers
from gpustack.profile.signals import Signals
from gpustack.vocabulary.amounts import format_value


def describe_idle_part(signals: Signals) -> str:
    verb, rest = "does" if signals.unused_count == 1 else "do", signals.gpus - signals.unused_count
    work = "GPU works" if rest == 1 else "GPUs work"
    return f"{signals.unused_gpus} {verb} nothing, while the other {f'{rest} ' if rest > 1 else ''}{work}."


def describe_throttle(signals: Signals) -> str:
    """Name the GPUs that are slowed down, where others are not."""
    if facts := [outlier for outlier in signals.outliers if outlier.trait.name in (SLOWDOWN, "clock")]:
        return f"GPUs are slowed down by heat or by an external signal. {list_facts(facts)}."
    clock = signals.format_mean("clock")
    return f"The GPUs are slowed down by heat or by an external signal{f': clock {clock}' if clock else ''}."


def list_facts(outliers: Sequence[Outlier]) -> str:
    """List what is special of each GPU: `GPU 3: clock 900 of 1,980 MHz (the others 1,750 MHz)`."""
    gpus = dict.fromkeys(outlier.gpu for outlier in outliers)
    return "; ".join(f"{gpu}: {', '.join(outlier.text for outlier in outliers if outlier.gpu == gpu)}" for gpu in gpus)


def describe_power_limit(signals: Signals) -> str:
    limit, clock = signals.format_mean("power_limit"), signals.format_mean("clock") or "unknown"
    return f"A power limit below the board's default holds the GPUs back: {limit}, clock {clock}."


def describe_imbalance(signals: Signals) -> str:
    """Name the GPUs that differ and by what. A cause, as a lower clock, explains that the others wait."""
    outliers = choose_outliers(signals.outliers) if signals.outliers else ()
    if not outliers:
        return f"The {format_count(signals.gpus, 'GPU')} of the job do not work equally: some wait for others."
    gpus, facts = list(dict.fromkeys(outlier.gpu for outlier in outliers)), list_facts(outliers)
    if outliers[0].trait.is_effect:
        return f"The GPUs of the job do not work equally. {facts}."
    return f"{f'{gpus[0]} holds' if len(gpus) == 1 else 'Some GPUs hold'} up the others. {facts}."


def describe_network(signals: Signals) -> str:
    if signals.network is not None and (signals.exchange is None or signals.network > signals.exchange):
        share = format_value(signals.network, "ratio")
        return f"The GPUs wait for communication over the network: its busiest card moves {share} of its speed."
    return "The GPUs exchange data over PCIe: with other hosts over the network, or with each other where no NVLink is."


def describe_turns(signals: Signals) -> str:
    lost_share = format_value(signals.turns.lost_share, "ratio") if signals.turns else "a part"
    return f"The GPUs work in turn, as stages of a pipeline do: {lost_share} of their time is lost."

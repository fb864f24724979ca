"""Recording rules of values that cannot both be true: gpustack/vocabulary/contradiction.py, for each moment.

Profiling counters that read 0 while utilisation or power shows work are dead, not idle. Utilisation stands for them
then, and without it activity is unknown. The expressions read names without matchers and ranges, so that
gpustack/capacity/raw_rules.py can expand them.
"""

from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.contradiction import BUSY_ACTIVITY, COPY_RATE, COPY_SHARE, IDLE_ACTIVITY, WORKING_POWER
from gpustack.vocabulary.fields import DEV
from scripts.values.normalise import GPU, Rule, group_by_gpu, normalize_field, pad_lines

GPU_LABELS = "node, UUID, GPU_I_ID"
ENGINE, SM = "gpustack:gpu_engine_active:ratio", "gpustack:gpu_sm_active:ratio"
UTILISATION, POWER = "gpustack:gpu_utilisation:ratio", "gpustack:gpu_power:ratio"
WHOLE_GPU = '{GPU_I_ID=""}'
STOPPED_ENGINE = f"({ENGINE} or {SM}) <= {IDLE_ACTIVITY} unless on ({GPU_LABELS}) {SM} > {IDLE_ACTIVITY}"
LINKS = [
    f"gpustack:gpu_{link}_{direction}:bytes_per_second"
    for link in ("pcie", "nvlink")
    for direction in ("transmit", "receive")
]
COPY_ACTIVITY = "\nor\n".join(
    [f"gpustack:gpu_dram_active:ratio >= {COPY_SHARE}", *(f"{link} >= {COPY_RATE:.0f}" for link in LINKS)]
)


def build_power_rule() -> Rule:
    power, limit = (normalize_field(f"{DEV}{name}", WHOLE_GPU) for name in ("POWER_USAGE", "ENFORCED_POWER_LIMIT"))
    return Rule(
        POWER,
        group_by_gpu(f"({power})\n/ (({limit}) > 0)"),
        comment="Share of its limit. MIG instances have none: the power is their board's.",
    )


def build_contradiction_rule() -> Rule:
    """Build the rule. It reads each name as rarely as possible: what has no rules computes all of them at once."""
    copies_alone = f"(\n{pad_lines(COPY_ACTIVITY)}\n) unless on ({GPU_LABELS}) {POWER} >= {WORKING_POWER}"
    busy_engines = f"{UTILISATION} >= {BUSY_ACTIVITY} unless on ({GPU_LABELS}) (\n{pad_lines(copies_alone)}\n)"
    power_draw = f"{POWER} >= {WORKING_POWER} unless on ({GPU_LABELS}) {UTILISATION} >= {BUSY_ACTIVITY}"
    witnesses = f"{label_witness(busy_engines, 'utilisation')}\nor\n{label_witness(power_draw, 'power')}"
    contradictions = f"(\n{pad_lines(witnesses)}\n)\nand on ({GPU_LABELS}) ({STOPPED_ENGINE})"
    return Rule(
        series.CONTRADICTION,
        f"max by ({GPU}, {series.WITNESS}) (\n{pad_lines(contradictions)}\n) * 0 + 1",
        comment="Profiling counters read 0, and what the label names shows work. Copies alone use no engine.",
    )


def label_witness(expr: str, witness: str) -> str:
    return f'label_replace(\n{pad_lines(expr)},\n  "{series.WITNESS}", "{witness}", "", ""\n)'


def replace_dead_counters(activity: str, utilisation: str, matching: str) -> str:
    """Replace what dead counters say by utilisation where it shows work, else by nothing. Utilisation also stands for
    activity that is not there, `matching` says on which labels. Each expression is evaluated once."""
    unknown_activity = f"{series.CONTRADICTION} unless on ({GPU_LABELS}) {UTILISATION} >= {BUSY_ACTIVITY}"
    return (
        f"{activity}\nunless on ({GPU_LABELS}) {series.CONTRADICTION}\n"
        f"or {matching} (\n{pad_lines(utilisation)}\n)\nunless on ({GPU_LABELS}) ({unknown_activity})"
    )


def build_contradicting_rule() -> Rule:
    return Rule(
        series.CONTRADICTING,
        f"{series.CONTRADICTION}\n* on ({GPU_LABELS}) group_left () (\n"
        f"  max by ({GPU_LABELS}) ({UTILISATION} >= {BUSY_ACTIVITY})\n  or\n  max by ({GPU_LABELS}) ({POWER})\n)",
        comment="The value that contradicts profiling counters, which read 0.",
    )

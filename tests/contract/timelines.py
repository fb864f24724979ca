"""Stored series over time as promtool's input, and what the rules say of them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from pathlib import Path

from tests.contract.promql import RULES
from tests.contract.promtool import run_promtool

STEP = 30
"""Seconds between two scrapes."""
GROUP_ORDER = [
    "gpustack-gpu-usage", "gpustack-gpu-board", "gpustack-nodes", "gpustack-gpu-jobs", "gpustack-day",
    "gpustack-operands",
]  # fmt: skip
SAMPLE = re.compile(r"\{([^}]*)\} ([0-9.E+]+)")
PAIR = re.compile(r'(\w+)="([^"]*)"')
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
POWER = "DCGM_FI_DEV_POWER_USAGE"
Labels = Mapping[str, str]
StoredSeries = Sequence[tuple[Labels, float]]
Pieces = Sequence[tuple[float, float | None, float]]
"""Each piece begins at a minute, with the value at that minute and its rise a minute. None: a scrape does not find the
series, which leaves a stale marker; NO_SCRAPE: nothing is scraped, because Prometheus is away."""
NO_SCRAPE = nan


@dataclass(frozen=True)
class Firing:
    """An alert that fired, by its most telling labels."""

    alert: str
    severity: str
    node: str
    minute: float
    gpu: str = ""


def build_pieces(series: StoredSeries) -> list[tuple[Labels, Pieces]]:
    """Let each series keep its value; energy rises by the power of the same GPU, as where the exporter lives."""
    power_values = {find_gpu(labels): value for labels, value in series if labels["__name__"] == POWER}
    return [
        (labels, [(0, value, 60_000 * power_values.get(find_gpu(labels), 0) if labels["__name__"] == ENERGY else 0)])
        for labels, value in series
    ]


def find_gpu(labels: Labels) -> tuple[str, ...]:
    return tuple(labels.get(name, "") for name in ("instance", "UUID", "GPU_I_ID"))


def render_values(pieces: Pieces, minutes: int) -> str:
    """Render promtool's notation. A series that ends has a stale marker, as after a failed or an empty scrape."""
    last_step = minutes * 60 // STEP + 1
    words, steps = [], [*(min(round(begin * 60 / STEP), last_step) for begin, *_ in pieces), last_step]
    alive = False
    for (first, last), (_, value, rise) in zip(pairwise(steps), pieces, strict=True):
        count = last - first
        if count <= 0:
            continue
        if value is not None and isnan(value):
            words.append(f"_x{count}")
        elif value is None:
            words += ["stale", *([f"_x{count - 1}"] if count > 1 else [])] if alive else [f"_x{count}"]
        else:
            words.append(f"{value!r}+{rise * STEP / 60!r}x{count - 1}")
        alive = value is not None
    return " ".join([f"_x{steps[0]}", *words] if steps[0] else words)


def render_series(labels: Labels) -> str:
    text = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items() if name != "__name__")
    return f"{labels['__name__']}{{{text}}}"


def find_firings(folder: Path, series: Sequence[tuple[Labels, Pieces]], minutes: int) -> list[Firing]:
    """Evaluate all rules each minute, and find which alerts fired, each with the minute at which it began."""
    firing = 'timestamp(ALERTS{alertstate="firing"})'
    labels = "alertname, severity, node, UUID"
    expr = f"min by ({labels}) (min_over_time(({firing})[{minutes + 1}m:1m]))"
    case = {
        "interval": f"{STEP}s",
        "input_series": [
            {"series": render_series(labels), "values": render_values(pieces, minutes)} for labels, pieces in series
        ],
        "promql_expr_test": [{"expr": expr, "eval_time": f"{minutes}m"}],
    }
    text = {
        "rule_files": [str(RULES / name) for name in ("gpu-recording.yaml", "gpu-alerts.yaml")],
        "evaluation_interval": "1m",
        "group_eval_order": GROUP_ORDER,
        "tests": [case],
    }
    (folder / "timeline.yaml").write_text(json.dumps(text))
    complaint = run_promtool("test", "rules", folder / "timeline.yaml")
    return sorted(read_firings(complaint), key=lambda firing: firing.minute)


def read_firings(complaint: str) -> Iterator[Firing]:
    """Read the series that promtool got where none was expected."""
    assert not complaint or "got:" in complaint, complaint
    for text, value in SAMPLE.findall(complaint.partition("got:")[2]):
        labels = dict(PAIR.findall(text))
        yield Firing(
            labels["alertname"], labels["severity"], labels.get("node", ""), float(value) / 60, labels.get("UUID", "")
        )

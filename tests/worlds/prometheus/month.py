"""A month of many GPUs as a Prometheus has recorded it, for scripts/bench: October 2026, eight GPUs to a node.

Pods of 1, 2 and 4 GPUs follow each other on every node, each for some hours, of one of forty namespaces and teams.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from gpustack.vocabulary import usage_series as series
from tests.worlds.life import blocks
from tests.worlds.life.samples import Track
from tests.worlds.life.steps import add_up
from tests.worlds.prometheus.usage import BEGIN, MINUTE, Recorder

DAYS, PER_NODE, NAMESPACES = 31, 8, 40


def record_month(gpus: int) -> Recorder:
    recorder, rng = Recorder(DAYS * 24), random.Random(29)
    for number in range(gpus // PER_NODE):
        node = f"gpu{number}"
        recorder.record_node(node, 0, recorder.minutes, PER_NODE)
        for size in (4, 2, 1, 1):
            at = rng.randrange(600)
            while at < recorder.minutes:
                end, of = at + int(rng.lognormvariate(5.5, 0.8)) + 5, rng.randrange(NAMESPACES)
                recorder.record_pod(node, f"team-{of}", at, end, size, rng.choice((0.0, 0.4, 0.9)), team=f"team-{of}")
                at = end + int(rng.expovariate(1 / 60))
    for of in range(NAMESPACES):
        for at in range(rng.randrange(600), recorder.minutes, 600):
            whose = {"namespace": f"team-{of}", "team": f"team-{of}", "resource": "nvidia_com_gpu"}
            recorder.put(series.QUEUED, at, at + rng.randrange(20, 300), 8, **whose)
    return recorder


def draw_tracks(recorder: Recorder) -> Iterator[Track]:
    """Several pods of one team on a node are one series: what overlaps is added up."""
    for name, span in recorder.spans.items():
        for labels, spans in span.items():
            runs = [(BEGIN + MINUTE * (first + 1), int(last - first), value) for first, last, value in add_up(spans)]
            yield Track({"__name__": name, **dict(labels)}, MINUTE, runs)


def write(folder: Path, gpus: int) -> None:
    """Write a block into the folder, a Prometheus' --storage.tsdb.path."""
    with TemporaryDirectory() as built:
        blocks.write(blocks.build(Path(built)), folder, draw_tracks(record_month(gpus)), DAYS)

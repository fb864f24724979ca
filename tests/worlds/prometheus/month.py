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
            begin = rng.randrange(600)
            while begin < recorder.minutes:
                end, namespace = begin + int(rng.lognormvariate(5.5, 0.8)) + 5, rng.randrange(NAMESPACES)
                recorder.record_pod(
                    node, f"team-{namespace}", begin, end, size, rng.choice((0.0, 0.4, 0.9)), team=f"team-{namespace}"
                )
                begin = end + int(rng.expovariate(1 / 60))
    for namespace in range(NAMESPACES):
        for begin in range(rng.randrange(600), recorder.minutes, 600):
            labels_of_pod = {
                "namespace": f"team-{namespace}",
                "team": f"team-{namespace}",
                "resource": "nvidia_com_gpu",
            }
            recorder.put(series.QUEUED_UNITS, begin, begin + rng.randrange(20, 300), 8, **labels_of_pod)
    return recorder


def draw_tracks(recorder: Recorder) -> Iterator[Track]:
    """Several pods of one team on a node are one series: what overlaps is added up."""
    for name, span in recorder.spans.items():
        for labels, spans in span.items():
            runs = [(BEGIN + MINUTE * (first + 1), int(last - first), value) for first, last, value in add_up(spans)]
            yield Track({"__name__": name, **dict(labels)}, MINUTE, runs)


def write(folder: Path, gpus: int) -> None:
    """Write a block into the folder, a Prometheus' --storage.tsdb.path."""
    with TemporaryDirectory() as build_folder:
        blocks.write(blocks.build(Path(build_folder)), folder, draw_tracks(record_month(gpus)), DAYS)

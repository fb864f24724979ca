"""Traps are there in some of the lives, and not in all where they are of chance."""

from collections import Counter, defaultdict

import pytest

from tests.worlds.life.activity import draw_restarts
from tests.worlds.life.clock import DAY, HOUR, NO_TIME
from tests.worlds.life.draw import Life, draw


@pytest.fixture(scope="module")
def lives() -> list[Life]:
    return [draw(seed) for seed in range(12)]


def count_traps(life: Life) -> Counter[str]:
    """Count how often each trap is there."""
    pods, nodes, end = life.truth.pods, life.nodes, life.truth.known_end
    mine = [pod for pod in pods if pod.deletion > life.start]
    names = defaultdict(set)
    for pod in mine:
        names[pod.namespace, pod.name].add(pod.uid)
    has_two_exporters = [len(targets) > 1 for targets in life.scrapes.exporters.values()]
    return Counter(
        {
            "renamed": sum(life.start < team.renamed < end for team in life.teams),
            "old label after the renaming": sum(
                pod.label == team.name and pod.creation < team.renamed < pod.end
                for pod in mine
                for team in life.teams
                if team.name != team.later
            ),
            "no label": sum(not pod.label for pod in mine),
            "two namespaces": sum(len(team.namespaces) > 1 for team in life.teams),
            "node joins": sum(node.up_spans[0][0] > life.start for node in nodes),
            "node leaves": sum(len(node.up_spans) > 1 for node in nodes),
            "drained": sum(pod.is_replacement for pod in mine),
            "broken GPU": sum(bool(node.broken_slots) for node in nodes),
            "MIG": sum(pod.pool.sharing == "mig" for pod in mine),
            "instances leave a part": any(pool.units * pool.share < 1 for pool in life.pools),
            "time-slicing": sum(pod.pool.sharing == "time-slicing" for pod in mine),
            "renamed resource": any(pool.resource == "nvidia_com_gpu_shared" for pool in life.pools),
            "virtual GPUs": life.truth.virtual_gpus,
            "same name": sum(len(uids) > 1 for uids in names.values()),
            "finished pods stay": sum(pod.end + HOUR < pod.deletion < NO_TIME for pod in mine),
            "failed": sum(pod.phase == "Failed" and pod.end < NO_TIME for pod in mine),
            "waited": sum(pod.binding > pod.creation + HOUR for pod in mine if pod.node),
            "gave up": sum(not pod.node and pod.deletion < NO_TIME for pod in mine),
            "holds and does nothing": sum(pod.used_units == 0 and pod.binding < NO_TIME for pod in mine),
            "uses half": sum(0 < pod.used_units < pod.units for pod in mine),
            "restarted": sum(bool(draw_restarts(life.seed, pod, end)) for pod in mine if pod.start < end),
            "two jobs scrape": all(has_two_exporters) and bool(has_two_exporters),
            "two kube-state-metrics": len(life.scrapes.kube_state) > 1,
            "another exporter pod": sum(
                len(exporters_of_node[0].generations) > 1 for exporters_of_node in life.scrapes.exporters.values()
            ),
            "Prometheus was down": len(life.scrapes.down_spans),
            "down for hours": sum(end - begin > HOUR for begin, end in life.scrapes.down_spans),
        }
    )


CHANCE = {
    "instances leave a part", "renamed resource", "virtual GPUs", "two jobs scrape", "two kube-state-metrics",
    "down for hours",
}  # fmt: skip


def test_each_trap_is_there(lives: list[Life]) -> None:
    counts = [count_traps(life) for life in lives]
    often_seen = {name: sum(bool(counts_of_life[name]) for counts_of_life in counts) for name in counts[0]}
    assert {name: count for name, count in often_seen.items() if not count} == {}
    assert {name for name in CHANCE if often_seen[name] == len(lives)} == set()


def test_a_job_runs_for_longer_than_a_month(lives: list[Life]) -> None:
    for life in lives:
        pod = life.overlong
        assert pod.creation < life.start
        assert min(pod.end, life.truth.known_end) - life.start > 30 * DAY


def test_gaps_are_small_next_to_what_is_measured(lives: list[Life]) -> None:
    shares = [
        sum(end - begin for begin, end in life.scrapes.list_gaps(life.start, life.truth.known_end)) / (60 * DAY)
        for life in lives
    ]
    assert all(0 < share < 0.01 for share in shares)

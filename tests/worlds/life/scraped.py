"""The series of a life that a Prometheus would have."""

from collections.abc import Container, Iterable, Iterator, Sequence

from tests.worlds.life.attribution import find_owners
from tests.worlds.life.exporter_series import build_gpu_series
from tests.worlds.life.kube_state import (
    Series,
    build_exporter_pods,
    build_namespace_series,
    build_node_series,
    build_pod_series,
)
from tests.worlds.life.samples import Sampler, Track, join_tracks
from tests.worlds.life.targets import Scrapes, Target
from tests.worlds.life.teams import Team
from tests.worlds.life.truth import Truth

Names = Container[str] | None


def scrape(truth: Truth, teams: Sequence[Team], scrapes: Scrapes, step: int, names: Names) -> Iterator[Track]:
    """`names` of metrics, or all. Of the known days."""
    for target in scrapes.kube_state:
        kube_state = build_kube_state_series(truth, teams, scrapes)
        yield from (track for tracks in scrape_target(target, truth, step, kube_state, names) for track in tracks)
    owners = find_owners(truth.pods, virtual=truth.virtual_gpus)
    for node in truth.nodes:
        for target in scrapes.exporters[node.name]:
            of_gpus = build_gpu_series(node, truth, owners, truth.known_end)
            yield from join_tracks(
                track for series_tracks in scrape_target(target, truth, step, of_gpus, names) for track in series_tracks
            )
    if names is None or "up" in names:
        for target in (
            *scrapes.kube_state,
            *(exporter for node in truth.nodes for exporter in scrapes.exporters[node.name]),
        ):
            yield from join_tracks(build_up_series(target, truth, step))


def build_kube_state_series(truth: Truth, teams: Sequence[Team], scrapes: Scrapes) -> Iterator[Series]:
    for pod in truth.pods:
        if pod.deletion > truth.start and pod.creation < truth.known_end:
            yield from build_pod_series(pod, truth.seed, truth.known_end)
    for node in truth.nodes:
        yield from build_node_series(node, truth.known_end)
        yield from build_exporter_pods(node, scrapes.exporters[node.name][0])
    yield from build_namespace_series(teams, truth.start, truth.known_end)


def scrape_target(
    target: Target, truth: Truth, step: int, series: Iterable[Series], names: Names
) -> Iterator[Iterator[Track]]:
    sampler = Sampler(target, truth.start, truth.known_end, step)
    for name, labels, pieces in series:
        if names is None or name in names:
            yield sampler.build_tracks({"__name__": name, **labels}, pieces)


def build_up_series(target: Target, truth: Truth, step: int) -> Iterator[Track]:
    """0 where a scrape failed; of the target alone, so it is there whenever Prometheus and the target are."""
    answering_target = Target(target.generations, [], target.down_spans, phase=target.phase)
    sampler = Sampler(answering_target, truth.start, truth.known_end, step)
    for window in sampler.windows:
        labels = {name: value for name, value in window.labels.items() if not name.startswith("DCGM_")}
        track = Track({"__name__": "up", **labels}, step)
        failed_numbers = {
            number
            for begin, end in target.failing
            for number in range(
                answering_target.number(begin, truth.start, step), answering_target.number(end, truth.start, step)
            )
        }
        first = window.first
        for number in sorted(
            failed_number for failed_number in failed_numbers if window.first <= failed_number < window.last
        ):
            track.runs += [(sampler.time(first), number - first, 1.0)] if first < number else []
            track.runs.append((sampler.time(number), 1, 0.0))
            first = number + 1
        track.runs += [(sampler.time(first), window.last - first, 1.0)] if first < window.last else []
        track.stale = [sampler.time(window.last)] if window.stale else []
        yield track

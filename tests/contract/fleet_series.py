"""Series of a made fleet as a Prometheus has scraped them: of kube-state-metrics and of dcgm-exporter, with restarts of
both and of Prometheus. With `honoured` labels the exporter's series have the workload in `pod`, else in `exported_pod`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.contract.fleet import L40S, LEVEL, SHARERS, Fleet, Place, Pod, list_places
from tests.worlds.life import blocks
from tests.worlds.life.clock import DAY, HOUR, MINUTE, Span, merge_spans, subtract_spans
from tests.worlds.life.samples import Pieces, Sampler, Track, join_tracks
from tests.worlds.life.targets import Target

ACTIVE, TEMPERATURE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_TEMP"
STRATEGY = "label_nvidia_com_gpu_sharing_strategy"


@dataclass(frozen=True)
class Scraper:
    """Scrape a fleet. `down_spans` are those without this Prometheus, besides its restarts; `nodes` are those whose
    series it has."""

    fleet: Fleet
    honoured: bool = False
    down_spans: Sequence[Span] = ()
    nodes: Sequence[str] = ("h1", "h2", "m1", "t1")
    step: int = MINUTE
    phase: int = 7
    restarts: Sequence[tuple[float, float]] = field(default=((5.2 * DAY, 3), (17.6 * DAY, 12), (30.4 * DAY, 3)))

    def write_blocks(self, program: Path, folder: Path) -> None:
        blocks.write(program, folder, join_tracks(self.scrape()), self.fleet.days + 1)

    def list_down_spans(self) -> list[Span]:
        restarts = [
            (self.fleet.start + age, self.fleet.start + age + minutes * MINUTE) for age, minutes in self.restarts
        ]
        return merge_spans([*restarts, *self.down_spans])

    def scrape(self) -> Iterator[Track]:
        kube_state = self.build_target("kube-state-metrics", (9 * DAY, 27 * DAY), 2 * MINUTE)
        for labels, pieces in self.list_cluster_series():
            yield from self.build_tracks(kube_state, labels, pieces)
        for node in self.nodes:
            exporter = self.build_target(f"nvidia-dcgm-exporter-{node}", (11 * DAY, 20 * DAY + 3 * HOUR), 90)
            yield from self.build_tracks(exporter, {"__name__": "up"}, [(self.fleet.first, self.fleet.last, 1.0)])
            for labels, pieces in self.list_gpu_series(node):
                yield from self.build_tracks(exporter, labels, pieces)

    def build_tracks(self, target: Target, labels: dict[str, str], pieces: Pieces) -> Iterable[Track]:
        return Sampler(target, self.fleet.first, self.fleet.last, self.step).build_tracks(labels, pieces)

    def build_target(self, name: str, moments: Sequence[float], gap: float) -> Target:
        """Build a target whose pod is another one after each of the moments."""
        holes = [(self.fleet.start + moment, self.fleet.start + moment + gap) for moment in moments]
        generations = []
        for number, span in enumerate(subtract_spans(self.fleet.first, self.fleet.last, holes)):
            labels = {"job": name.rpartition("-")[0], "instance": f"10.244.{number}.{len(name)}:9400"}
            if "exporter" in name:
                labels |= {"namespace": "gpu-operator", "pod": f"{name}-{number}", "container": "nvidia-dcgm-exporter"}
                labels["instance"] = f"{name}-{number}:9400"
            generations.append((*span, labels))
        return Target(generations, [], self.list_down_spans(), phase=self.phase)

    def list_cluster_series(self) -> Iterator[tuple[dict[str, str], Pieces]]:
        for node in self.nodes:
            yield from self.list_node_series(node)
        for pod in self.fleet.pods:
            if pod.places[0].node in self.nodes:
                yield from list_pod_series(pod)

    def list_node_series(self, node: str) -> Iterator[tuple[dict[str, str], Pieces]]:
        places = [place for group in list_places() for place in group if place.node == node]
        strategy = "time-slicing" if places[0].model == L40S else "none"
        for pool, begin, end in self.fleet.list_pools(node):
            labels = {"__name__": "kube_node_labels", "node": node, "label_pool": pool, STRATEGY: strategy}
            yield labels, [(begin, end, 1.0)]
        for resource in dict.fromkeys(place.resource for place in places):
            spans = [self.fleet.list_presence(place) for place in places if place.resource == resource]
            moments = sorted({moment for begin, end in spans for moment in (begin, end) if begin < end})
            pieces = [
                (begin, end, float(sum(first <= begin < last for first, last in spans)))
                for begin, end in pairwise(moments)
            ]
            for name in ("capacity", "allocatable"):
                yield {"__name__": f"kube_node_status_{name}", "node": node, "resource": resource}, pieces

    def list_gpu_series(self, node: str) -> Iterator[tuple[dict[str, str], Pieces]]:
        """List series of each unit, or of each GPU that pods share; these name one of the pods."""
        owners: dict[Place, list[Pod]] = defaultdict(list)
        for pod in self.fleet.pods:
            for place in pod.places:
                owners[place].append(pod)
        units = [place for group in list_places() for place in group if place.node == node]
        for place in units if units[0].model != L40S else units[::SHARERS]:
            labels = {
                "gpu": str(place.index), "UUID": place.uuid, "modelName": place.model, "Hostname": node,
                "pci_bus_id": f"00000000:{place.index:02X}:00.0", "device": f"nvidia{place.index}",
            }  # fmt: skip
            if place.profile:
                labels |= {"GPU_I_PROFILE": place.profile, "GPU_I_ID": place.instance}
            held_spans = [(pod.begin, pod.end) for pod in owners[place]]
            for begin, end in subtract_spans(*self.fleet.list_presence(place), held_spans):
                yield {"__name__": ACTIVE, **labels}, [(begin, end, 0.0)]
                yield {"__name__": TEMPERATURE, **labels}, [(begin, end, 34.0)]
            for pod in owners[place]:
                owner = self.label_owner(pod)
                work = [(pod.begin, pod.busy_end, LEVEL), (pod.busy_end, pod.end, 0.0)]
                yield {"__name__": ACTIVE, **labels, **owner}, [piece for piece in work if piece[0] < piece[1]]
                yield {"__name__": TEMPERATURE, **labels, **owner}, [(pod.begin, pod.end, 60.0)]

    def label_owner(self, pod: Pod) -> dict[str, str]:
        prefix = "" if self.honoured else "exported_"
        words = {"namespace": pod.namespace, "pod": pod.name, "container": "main"}
        return {f"{prefix}{name}": word for name, word in words.items()}


def list_pod_series(pod: Pod) -> Iterator[tuple[dict[str, str], Pieces]]:
    """List series of a pod, which is deleted ten minutes after it has ended."""
    names, deletion, place = {"namespace": pod.namespace, "pod": pod.name, "uid": pod.uid}, pod.end + 600, pod.places[0]
    request = {"node": place.node, "container": "main", "resource": place.resource, "unit": "integer"}
    lifetime = [(pod.begin, deletion, 1.0)]
    yield (
        {"__name__": "kube_pod_container_resource_requests", **names, **request},
        [(pod.begin, deletion, float(len(pod.places)))],
    )
    yield {"__name__": "kube_pod_labels", **names, "label_team": f"team-{pod.namespace}"}, lifetime
    yield {"__name__": "kube_pod_created", **names}, [(pod.begin, deletion, pod.begin)]
    phases = {"Running": [(pod.begin, pod.end, 1.0), (pod.end, deletion, 0.0)], "Succeeded": [(pod.end, deletion, 1.0)]}
    for phase, pieces in phases.items():
        yield {"__name__": "kube_pod_status_phase", **names, "phase": phase}, pieces

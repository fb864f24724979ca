"""The records of a life by the rule group gpustack-usage, minute by minute: the rules as arithmetic of spans.

A second hand's reading of scripts/values/usage_rules.py: tests/contract/test_life_usage.py compares it with what a real
Prometheus makes of the rules.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil

from gpustack.vocabulary import usage_series as series
from tests.worlds.life.clock import MINUTE
from tests.worlds.life.draw import Life
from tests.worlds.life.samples import Track
from tests.worlds.life.steps import Steps, add_up
from tests.worlds.prometheus.usage import Recorder

LOOKBACK = 300
"""Seconds: Prometheus' --query.lookback-delta."""
REQUESTS, PHASE, POD, SPACE = (
    "kube_pod_container_resource_requests", "kube_pod_status_phase", "kube_pod_labels", "kube_namespace_labels",
)  # fmt: skip
CAPACITY, NODE, CREATION, BINDING = (
    "kube_node_status_capacity", "kube_node_labels", "kube_pod_created", "kube_pod_status_scheduled_time",
)  # fmt: skip
ENGINE, TEMP = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_TEMP"
NAMES = (REQUESTS, PHASE, POD, SPACE, CAPACITY, NODE, CREATION, BINDING, ENGINE, TEMP)
Span = tuple[int, int, float]
"""Minutes since the life began, the last not part of it, and a value."""
Key = tuple[str, ...]


def list_spans(track: Track, start: float) -> Iterator[Span]:
    """List when an instant query at a full minute sees a value: until the next sample, five minutes, or a stale
    marker."""
    ends = sorted([*(first for first, _, _ in track.runs), *track.stale])
    for first, count, value in track.runs:
        last = first + (count - 1) * track.step
        place = bisect_right(ends, last)
        stop = min(ends[place] if place < len(ends) else last + LOOKBACK, last + LOOKBACK)
        begin, end = ceil((first - start) / MINUTE), ceil((stop - start) / MINUTE)
        if begin < end:
            yield max(begin, 0), end, value


def merge_highest(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that may overlap into the highest of each moment, as `max by` does."""
    spans = sorted(spans)
    if all(first_span[1] <= second_span[0] for first_span, second_span in pairwise(spans)):
        return spans
    moments = sorted({moment for begin, end, _ in spans for moment in (begin, end)})
    pieces, open_spans, place = list[Span](), list[Span](), 0
    for begin, end in pairwise(moments):
        while place < len(spans) and spans[place][0] <= begin:
            open_spans.append(spans[place])
            place += 1
        open_spans = [span for span in open_spans if span[1] > begin]
        if open_spans:
            pieces.append((begin, end, max(value for _, _, value in open_spans)))
    return pieces


def cross_spans(first_spans: Sequence[Span], second_spans: Sequence[Span]) -> Iterator[tuple[int, int, float, float]]:
    """Intersect two lists of spans, each in the order of time without overlaps, and keep both values."""
    place = 0
    for begin, end, value in first_spans:
        while place < len(second_spans) and second_spans[place][1] <= begin:
            place += 1
        for first, last, second_value in second_spans[place:]:
            if first >= end:
                break
            yield max(begin, first), min(end, last), value, second_value


def group(tracks: Iterable[Track], names: Sequence[str], start: float) -> dict[Key, list[Span]]:
    spans_by_key: dict[Key, list[Span]] = defaultdict(list)
    for track in tracks:
        spans_by_key[tuple(track.labels.get(name, "") for name in names)] += list_spans(track, start)
    return {key: merge_highest(spans) for key, spans in spans_by_key.items()}


class Teams:
    """gpustack:pod_team:info. A label of the pod counts before that of its namespace."""

    def __init__(self, metrics: Mapping[str, list[Track]], start: float) -> None:
        of_pods = [metric for metric in metrics[POD] if metric.labels.get("label_team")]
        self.pods: dict[Key, list[tuple[int, int, str]]] = defaultdict(list)
        self.spaces: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for (space, name, team), spans in group(of_pods, ("namespace", "pod", "label_team"), start).items():
            self.pods[space, name] += [(begin, end, team) for begin, end, _ in spans]
        for (space, team), spans in group(metrics[SPACE], ("namespace", "label_team"), start).items():
            self.spaces[space] += [(begin, end, team) for begin, end, _ in spans]

    def split(self, space: str, pod: str, spans: Iterable[Span]) -> Iterator[tuple[str, Span]]:
        """Split a span into parts, each with its team."""
        for span in spans:
            for team, part in cut_by(self.pods.get((space, pod), ()), span):
                yield from [(team, part)] if team else cut_by(self.spaces.get(space, ()), part)


def cut_by(named_spans: Iterable[tuple[int, int, str]], span: Span) -> Iterator[tuple[str, Span]]:
    """The parts of a span, with the name that there is then; of two at once the earlier one."""
    start, end, value = span
    for begin, last, name in sorted(named_spans):
        first, stop = max(begin, start), min(last, end)
        if first < stop:
            yield "", (start, first, value)
            yield name, (first, stop, value)
            start = stop
    yield "", (start, end, value)


def record(life: Life) -> Recorder:
    """Record a life from its first minute on."""
    metrics: dict[str, list[Track]] = {name: [] for name in NAMES}
    for track in life.build_series(MINUTE, NAMES):
        metrics[track.labels["__name__"]].append(track)
    recorder = Recorder(life.truth.days * 24)
    for begin, end in life.scrapes.down_spans:
        recorder.lose(ceil((begin - life.start) / MINUTE), ceil((end - life.start) / MINUTE))
    teams = Teams(metrics, life.start)
    record_nodes(recorder, metrics, life.start)
    record_pods(recorder, metrics, teams, life.start)
    record_queue(recorder, metrics, teams, life.start)
    record_held(recorder, metrics, teams, life.start)
    return recorder


def put(recorder: Recorder, name: str, spans_by_key: Mapping[Key, Iterable[Span]], labels: Sequence[str]) -> None:
    """Sums of spans; where there is none, there is no sample."""
    for key, spans in spans_by_key.items():
        for begin, end, value in add_up(spans):
            recorder.put(name, int(begin), int(end), value, **dict(zip(labels, key, strict=True)))


def record_nodes(recorder: Recorder, metrics: Mapping[str, list[Track]], start: float) -> None:
    gpus: dict[Key, list[Span]] = defaultdict(list)
    for (node, model, _), spans in group(metrics[TEMP], ("hostname", "modelName", "UUID"), start).items():
        gpus[node, model] += [(begin, end, 1.0) for begin, end, _ in spans]
    put(recorder, series.GPUS, gpus, ("node", "modelName"))
    of_gpus = [metric for metric in metrics[CAPACITY] if "nvidia" in metric.labels["resource"]]
    offered_units = group(of_gpus, ("node", "resource"), start)
    put(recorder, series.OFFERED_UNITS, offered_units, ("node", "resource"))
    plain = [track for track in metrics[NODE] if track.labels.get("label_nvidia_com_gpu_sharing_strategy") == "none"]
    whole_gpu_nodes, counts = group(plain, ("node",), start), defaultdict[str, list[Span]](list)
    for (node, _), spans_of_model in gpus.items():
        counts[node] += spans_of_model
    units: dict[Key, list[Span]] = {}
    for (node, resource), spans in offered_units.items():
        if "_mig_" in resource:
            share = int(resource.split("_mig_")[1][0]) / 7
            units[node, resource] = [(begin, end, share) for begin, end, _ in spans]
            continue
        last = max(end for _, end, _ in spans)
        counted_spans = [
            (int(begin), int(end), value) for begin, end, value in Steps(counts[node]).list_pieces(0, last) if value
        ]
        units[node, resource] = [
            (begin, end, 1 / max(1, round(count / number)))
            for begin, end, count, number in cross_spans(spans, counted_spans)
        ]
        if (node,) in whole_gpu_nodes:
            units[node, resource] = [
                (begin, end, 1.0) for begin, end, *_ in cross_spans(spans, whole_gpu_nodes[(node,)])
            ]
    put(recorder, series.UNIT, units, ("node", "resource"))


def select_phases(metrics: Mapping[str, list[Track]], phases: Sequence[str], start: float) -> dict[Key, list[Span]]:
    phase_metrics = [metric for metric in metrics[PHASE] if metric.labels["phase"] in phases]
    spans_by_key: dict[Key, list[Span]] = defaultdict(list)
    for track in phase_metrics:
        key = track.labels["namespace"], track.labels["pod"], track.labels["uid"]
        spans_by_key[key] += [span for span in list_spans(track, start) if span[2] == 1]
    return {key: merge_highest(spans) for key, spans in spans_by_key.items()}


def sum_requests(metrics: Mapping[str, list[Track]], start: float, *, bound: bool) -> dict[Key, list[Span]]:
    request_metrics = [
        metric
        for metric in metrics[REQUESTS]
        if "nvidia" in metric.labels["resource"] and ("node" in metric.labels) == bound
    ]
    return group(request_metrics, ("node", "resource", "namespace", "pod", "uid"), start)


def record_pods(recorder: Recorder, metrics: Mapping[str, list[Track]], teams: Teams, start: float) -> None:
    phases, spans_by_key = select_phases(metrics, ("Pending", "Running"), start), defaultdict[Key, list[Span]](list)
    for (node, resource, space, pod, uid), spans in sum_requests(metrics, start, bound=True).items():
        running_spans = [
            (begin, end, value) for begin, end, value, _ in cross_spans(spans, phases.get((space, pod, uid), []))
        ]
        for team, span in teams.split(space, pod, running_spans):
            spans_by_key[node, space, team, resource].append(span)
    put(recorder, series.ALLOCATED_UNITS, spans_by_key, ("node", "namespace", "team", "resource"))


def record_queue(recorder: Recorder, metrics: Mapping[str, list[Track]], teams: Teams, start: float) -> None:
    pending, queue_spans = select_phases(metrics, ("Pending",), start), defaultdict[Key, list[Span]](list)
    requests = sum_requests(metrics, start, bound=False)
    for (_, resource, space, pod, uid), spans in requests.items():
        pending_spans = [
            (begin, end, value) for begin, end, value, _ in cross_spans(spans, pending.get((space, pod, uid), []))
        ]
        for team, span in teams.split(space, pod, pending_spans):
            queue_spans[space, team, resource].append(span)
    put(recorder, series.QUEUED_UNITS, queue_spans, ("namespace", "team", "resource"))
    creations = {metric.labels["uid"]: metric.runs[0][2] for metric in metrics[CREATION] if metric.runs}
    scheduled_pods, wait_spans = defaultdict[Key, list[Span]](list), defaultdict[Key, list[Span]](list)
    for (space, _, uid), spans in group(metrics[BINDING], ("namespace", "pod", "uid"), start).items():
        binding = spans[0][2]
        minute = int((binding + series.INTERVAL - start) // MINUTE) + 1  # the first that is later than an interval
        if uid in creations and any(begin <= minute < end for begin, end, _ in spans):
            scheduled_pods[(space,)].append((minute, minute + 1, 1.0))
            wait_spans[(space,)].append((minute, minute + 1, binding - creations[uid]))
    put(recorder, series.SCHEDULED_PODS, scheduled_pods, ("namespace",))
    put(recorder, series.WAITED_SECONDS, wait_spans, ("namespace",))


def record_held(recorder: Recorder, metrics: Mapping[str, list[Track]], teams: Teams, start: float) -> None:
    names_of_labels = (
        "hostname",
        "UUID",
        "gpu",
        "modelName",
        "GPU_I_ID",
        "GPU_I_PROFILE",
        "exported_namespace",
        "exported_pod",
    )
    measured_spans = {
        name: defaultdict[Key, list[Span]](list)
        for name in (series.ATTRIBUTED_UNITS, series.ACTIVE_UNITS, series.IDLE_UNITS)
    }
    pod_metrics = [metric for metric in metrics[ENGINE] if metric.labels.get("exported_pod")]
    for (node, _, _, model, _, profile, space, pod), spans in group(pod_metrics, names_of_labels, start).items():
        for team, (begin, end, value) in teams.split(space, pod, spans):
            key = node, model, profile, space, team
            measured_spans[series.ATTRIBUTED_UNITS][key].append((begin, end, 1.0))
            measured_spans[series.ACTIVE_UNITS][key].append((begin, end, min(value, 1.0)))
            measured_spans[series.IDLE_UNITS][key].append((begin, end, float(value < series.IDLE_BELOW)))
    for name, spans_by_key in measured_spans.items():
        put(recorder, name, spans_by_key, ("node", "modelName", "GPU_I_PROFILE", "namespace", "team"))

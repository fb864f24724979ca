"""From a moment to what is answered of it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpustack.serve.measures import MEASURES, Measure, Point, combine, explain_absence, point_of
from gpustack.serve.models import (
    Gpu,
    GpuAnswer,
    GpuList,
    GpuName,
    Measured,
    Pod,
    PodAnswer,
    PodList,
    PodName,
    Value,
)
from gpustack.serve.moment import Device, Moment, devices_by_pod, match_pods, owners_named
from gpustack.serve.refusal import refuse_missing, shown


def list_gpus(moment: Moment, words: Mapping[str, str]) -> GpuList:
    """Those of `node`, or all. Raises Refusal where there is none."""
    node = words.get("node", "")
    found = [device for device in moment.devices if node in ("", device.gpu.node)]
    if not found:
        raise refuse_missing("serve-no-gpu", f"Prometheus has no GPU of a node {shown(node)}.")
    return GpuList(gpus=[Gpu(**describe_gpu(moment, device)) for device in found], doubts=list(moment.doubts))


def show_gpu(moment: Moment, words: Mapping[str, str]) -> GpuAnswer:
    return GpuAnswer(**describe_gpu(moment, find_gpu(moment, words)), doubts=list(moment.doubts))


def show_gpu_value(moment: Moment, words: Mapping[str, str]) -> Measured:
    return measured(moment, [find_gpu(moment, words)], words["measure"])


def list_pods(moment: Moment, words: Mapping[str, str]) -> PodList:
    """Those of `namespace`, or all. Raises Refusal where there is none: that is not the same as none in use."""
    namespace = words.get("namespace", "")
    by_pod = devices_by_pod(moment.devices)
    found = {pod: devices for pod, devices in by_pod.items() if namespace in ("", pod[0])}
    if not found:
        raise refuse_missing("serve-no-pod", explain_no_pod(moment, f"{shown(namespace)}/*" if namespace else ""))
    pods = [Pod(**describe_pod(moment, *pod, devices)) for pod, devices in found.items()]
    return PodList(pods=pods, doubts=list(moment.doubts))


def show_pod(moment: Moment, words: Mapping[str, str]) -> PodAnswer:
    devices = find_pod(moment, words)
    return PodAnswer(**describe_pod(moment, words["namespace"], words["pod"], devices), doubts=list(moment.doubts))


def show_pod_value(moment: Moment, words: Mapping[str, str]) -> Measured:
    return measured(moment, find_pod(moment, words), words["measure"])


def find_gpu(moment: Moment, words: Mapping[str, str]) -> Device:
    """Raises Refusal; of a GPU in MIG mode it names the instances."""
    uuid, instance = words["uuid"], words.get("instance", "")
    found = {device.gpu.instance: device for device in moment.devices if device.name == uuid}
    if instance in found:
        return found[instance]
    what = f"GPU {shown(uuid)}" + (f" with an instance {shown(instance)}" if instance else "")
    others = ", ".join(filter(None, found))
    hint = f" Its MIG instances are {others}: name one with ?instance=." if others else ""
    raise refuse_missing("serve-no-gpu", f"Prometheus has no {what}.{hint}")


def find_pod(moment: Moment, words: Mapping[str, str]) -> list[Device]:
    """Raises Refusal where no GPU is of such a pod."""
    namespace, pod = words["namespace"], words["pod"]
    found = match_pods(moment.devices, namespace, pod)
    if not found:
        raise refuse_missing("serve-no-pod", explain_no_pod(moment, f"{shown(namespace)}/{shown(pod)}"))
    return found


def explain_no_pod(moment: Moment, who: str) -> str:
    if not any(device.owners for device in moment.devices):
        return "No GPU has a pod: none is in use, or the exporters do not ask the kubelet whose GPUs are."
    return f"No GPU is of {who}: it has none, has ended or not begun, or has another name."


def describe_gpu(moment: Moment, device: Device) -> dict[str, Any]:
    pods = [PodName(namespace=one.namespace, name=one.pod, container=one.container) for one in device.owners]
    return {**vars(name_of(device)), "pods": pods, **values_of(moment, [device])}


def describe_pod(moment: Moment, namespace: str, name: str, devices: Sequence[Device]) -> dict[str, Any]:
    pods = sorted({owner.pod for device in devices for owner in owners_named(device, namespace, name)})
    names = {"namespace": namespace, "name": name, "pods": pods, "gpus": [name_of(device) for device in devices]}
    return names | values_of(moment, devices)


def name_of(device: Device) -> GpuName:
    gpu = device.gpu
    return GpuName(
        node=gpu.node, index=gpu.index, uuid=gpu.uuid, instance=gpu.instance, profile=gpu.profile, model=gpu.model
    )


def values_of(moment: Moment, devices: Sequence[Device]) -> dict[str, Value]:
    return {name: value_of(moment, devices, measure) for name, measure in MEASURES.items()}


def value_of(moment: Moment, devices: Sequence[Device], measure: Measure) -> Value:
    point = find_point(moment, devices, measure)
    if isinstance(point, str):
        return Value(value=None, unit=measure.unit, time=None, age_seconds=None, reason=point)
    return Value(**dated(moment, point), unit=measure.unit, reason=None)


def dated(moment: Moment, point: Point) -> dict[str, Any]:
    time = datetime.fromtimestamp(point.at, UTC)
    return {"value": point.value, "time": time, "age_seconds": round(moment.age(point.at), 3)}


def find_point(moment: Moment, devices: Iterable[Device], measure: Measure) -> Point | str:
    """Of all of these GPUs together, or why one of them has none."""
    points = []
    for device in devices:
        point = point_of(device.readings, measure)
        if point is None:
            return explain_absence(measure, device.name, moment.doubts)
        points.append(point)
    return combine(points, measure)


def measured(moment: Moment, devices: Sequence[Device], name: str) -> Measured:
    """Raises Refusal where the value is missing."""
    measure = MEASURES[name]
    point = find_point(moment, devices, measure)
    if isinstance(point, str):
        raise refuse_missing("serve-not-measured", point)
    return Measured(**dated(moment, point), unit=measure.unit, doubts=list(moment.doubts))

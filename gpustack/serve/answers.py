"""Answers of all paths, built from the readings of one moment."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpustack.gpus.activity import LIMIT, POWER
from gpustack.gpus.device import Device
from gpustack.gpus.identity import GpuIdentity
from gpustack.serve.measures import MEASURES, Measure, Point, combine, explain_absence, select_point
from gpustack.serve.models import Gpu, GpuAnswer, GpuList, Measurement, Pod, PodAnswer, PodList, Value
from gpustack.serve.moment import Moment, find_owners, group_devices, match_pods
from gpustack.serve.refusal import quote_input, refuse_missing
from gpustack.vocabulary.fields import PROF


def list_gpus(moment: Moment, parameters: Mapping[str, str]) -> GpuList:
    """List the GPUs of the node in `node`, or all. Raise Refusal where there is none."""
    node = parameters.get("node", "")
    devices = [device for device in moment.devices if node in ("", device.gpu.node)]
    if not devices:
        raise refuse_missing("serve-no-gpu", f"Prometheus has no GPU of a node {quote_input(node)}.")
    return GpuList(gpus=[Gpu(**describe_gpu(moment, device)) for device in devices], warnings=list(moment.doubts))


def show_gpu(moment: Moment, parameters: Mapping[str, str]) -> GpuAnswer:
    return GpuAnswer(**describe_gpu(moment, find_gpu(moment, parameters)), warnings=list(moment.doubts))


def show_gpu_value(moment: Moment, parameters: Mapping[str, str]) -> Measurement:
    return build_measurement(moment, [find_gpu(moment, parameters)], parameters["measure"], of_pod=False)


def list_pods(moment: Moment, parameters: Mapping[str, str]) -> PodList:
    """List the pods of `namespace` that have GPUs, or all. Raise Refusal where there is none, because that does not
    prove that no GPU is in use."""
    namespace = parameters.get("namespace", "")
    by_pod = group_devices(moment.devices)
    pods = {pod: devices for pod, devices in by_pod.items() if namespace in ("", pod[0])}
    if not pods:
        raise refuse_missing("serve-no-pod", explain_no_pod(moment, f"{quote_input(namespace)}/*" if namespace else ""))
    pod_models = [Pod(**describe_pod(moment, *pod, devices)) for pod, devices in pods.items()]
    return PodList(pods=pod_models, warnings=list(moment.doubts))


def show_pod(moment: Moment, parameters: Mapping[str, str]) -> PodAnswer:
    devices = find_pod(moment, parameters)
    return PodAnswer(
        **describe_pod(moment, parameters["namespace"], parameters["pod"], devices), warnings=list(moment.doubts)
    )


def show_pod_value(moment: Moment, parameters: Mapping[str, str]) -> Measurement:
    return build_measurement(moment, find_pod(moment, parameters), parameters["measure"], of_pod=True)


def find_gpu(moment: Moment, parameters: Mapping[str, str]) -> Device:
    """Find a GPU or MIG instance. Raise Refusal where there is none; for a GPU in MIG mode the reason names its
    instances."""
    uuid, instance = parameters["uuid"], parameters.get("instance", "")
    devices = {device.gpu.instance: device for device in moment.devices if device.name == uuid}
    if instance in devices:
        return devices[instance]
    subject = f"GPU {quote_input(uuid)}" + (f" with an instance {quote_input(instance)}" if instance else "")
    instances = ", ".join(filter(None, devices))
    hint = f" Its MIG instances are {instances}: name one with ?instance=." if instances else ""
    raise refuse_missing("serve-no-gpu", f"Prometheus has no {subject}.{hint}")


def find_pod(moment: Moment, parameters: Mapping[str, str]) -> list[Device]:
    """Find the GPUs of a pod. Raise Refusal where it has none."""
    namespace, pod = parameters["namespace"], parameters["pod"]
    devices = match_pods(moment.devices, namespace, pod)
    if not devices:
        raise refuse_missing("serve-no-pod", explain_no_pod(moment, f"{quote_input(namespace)}/{quote_input(pod)}"))
    return devices


def explain_no_pod(moment: Moment, subject: str) -> str:
    if not any(device.owners for device in moment.devices):
        return "No GPU has a pod: none is in use, or the exporters do not ask the kubelet whose GPUs are."
    return f"No GPU is of {subject}: it has none, has ended or not begun, or has another name."


def describe_gpu(moment: Moment, device: Device) -> dict[str, Any]:
    identity = GpuIdentity.model_validate(device)
    return {**vars(identity), "owners": device.owners, **build_values(moment, [device])}


def describe_pod(moment: Moment, namespace: str, name: str, devices: Sequence[Device]) -> dict[str, Any]:
    pods = sorted({owner.pod for device in devices for owner in find_owners(device, namespace, name)})
    names = {"namespace": namespace, "pod": name, "pod_names": pods, "gpus": devices}
    return names | build_values(moment, devices, of_pod=True)


def build_values(moment: Moment, devices: Sequence[Device], *, of_pod: bool = False) -> dict[str, Value]:
    return {name: build_value(moment, devices, measure, of_pod=of_pod) for name, measure in MEASURES.items()}


def build_value(moment: Moment, devices: Sequence[Device], measure: Measure, *, of_pod: bool) -> Value:
    point = find_point(moment, devices, measure, of_pod=of_pod)
    if isinstance(point, str):
        return Value(value=None, unit=measure.unit, measured_at=None, age_seconds=None, reason=point)
    return Value(**describe_point(moment, point), unit=measure.unit, reason=None)


def describe_point(moment: Moment, point: Point) -> dict[str, Any]:
    measured_at = datetime.fromtimestamp(point.timestamp, UTC)
    age_seconds = round(moment.compute_age(point.timestamp), 3)
    return {"value": point.value, "measured_at": measured_at, "age_seconds": age_seconds}


def find_point(moment: Moment, devices: Iterable[Device], measure: Measure, *, of_pod: bool) -> Point | str:
    """Combine a value over all of these GPUs, or say why one of them has none. The power of a board counts once, and
    belongs to no pod where several have MIG instances of it."""
    points = []
    by_board = measure.field in (POWER, LIMIT)
    for device in {device.name if by_board else device.label: device for device in devices}.values():
        if of_pod and by_board and device.divided:
            return f"{measure.field} is of the whole board {device.name}, which several pods share."
        point = select_point(device, measure)
        if point is None:
            if device.contradiction and measure.field.startswith(PROF):
                return f"{device.contradiction}."
            return explain_absence(measure, device.name, moment.doubts)
        points.append(point)
    return combine(points, measure)


def build_measurement(moment: Moment, devices: Sequence[Device], name: str, *, of_pod: bool) -> Measurement:
    """Build the answer with one value. Raise Refusal where the value is missing."""
    measure = MEASURES[name]
    point = find_point(moment, devices, measure, of_pod=of_pod)
    if isinstance(point, str):
        raise refuse_missing("serve-not-measured", point)
    return Measurement(**describe_point(moment, point), unit=measure.unit, warnings=list(moment.doubts))

"""How the GPU operator is configured: the parts of its ClusterPolicy that faults turn on, what pods of the
exporter get, and which ConfigMaps are there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import entries, entries_if_known

KEPT = ("driver.enabled", "dcgm.enabled", "devicePlugin.config", "dcgmExporter.serviceMonitor", "dcgmExporter.config",
        "cdi", "hostPaths", "daemonsets.tolerations")  # fmt: skip
BY_POD = "DCGM_EXPORTER_KUBERNETES"


@dataclass(frozen=True)
class PolicySettings:
    """Of a ClusterPolicy. `parts` are those of KEPT that it has at all; `plugin_config` names the device plugin's
    ConfigMap, `plugin_default` the key in it; `tolerated` are keys of taints, with an empty one for all."""

    name: str
    parts: tuple[str, ...]
    driver: bool
    dcgm: bool
    plugin_config: str
    plugin_default: str
    counters_config: str
    tolerated: tuple[str, ...]


@dataclass(frozen=True)
class ExporterPod:
    """What a DaemonSet of the exporter gives its pods. `asks_kubelet`: the kubelet is asked which pod has which GPU,
    and its folder is there for that. `config_map` has the list of counters, empty without one."""

    name: str
    image: str
    asks_kubelet: bool
    mounts_kubelet: bool
    config_map: str


def settings(answer: Answer) -> tuple[PolicySettings, ...] | None:
    """None while the API does not know the kind. Raises ValueError for another refusal."""
    known = entries_if_known(answer)
    return None if known is None else tuple(of_policy(entry) for entry in known)


def of_policy(entry: Any) -> PolicySettings:
    spec = entry.get("spec", {})
    plugin = spec.get("devicePlugin", {}).get("config") or {}
    counters = spec.get("dcgmExporter", {}).get("config") or {}
    return PolicySettings(
        entry["metadata"]["name"],
        tuple(path for path in KEPT if has_path(spec, path.split("."))),
        spec.get("driver", {}).get("enabled") is True,
        spec.get("dcgm", {}).get("enabled") is True,
        plugin.get("name", ""),
        plugin.get("default", ""),
        counters.get("name", ""),
        tuple(one.get("key", "") for one in spec.get("daemonsets", {}).get("tolerations") or ()),
    )


def has_path(spec: Any, path: list[str]) -> bool:
    return not path or (isinstance(spec, dict) and path[0] in spec and has_path(spec[path[0]], path[1:]))


def exporters(answer: Answer) -> tuple[ExporterPod, ...]:
    return tuple(exporter(entry["metadata"]["name"], entry["spec"]["template"]["spec"]) for entry in entries(answer))


def exporter(name: str, spec: Any) -> ExporterPod:
    container, *_ = (one for one in spec["containers"] if "dcgm" in one["name"])
    env = {one["name"]: one.get("value", "") for one in container.get("env", ())}
    mounts = {one["mountPath"].rstrip("/") for one in container.get("volumeMounts", ())}
    maps = [one["configMap"].get("name", "") for one in spec.get("volumes", ()) if "configMap" in one]
    return ExporterPod(
        name,
        container.get("image", ""),
        env.get(BY_POD, "").lower() == "true",
        any(mount.endswith("/pod-resources") for mount in mounts),
        next(iter(maps), ""),
    )


def config_maps(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Keys by name."""
    return {str(entry["metadata"]["name"]): tuple(sorted(entry.get("data") or {})) for entry in entries(answer)}


def keys_only(text: str) -> str:
    items = [entry | {"data": dict.fromkeys(entry.get("data") or {}, "")} for entry in load_json(text)["items"]]
    return dump_json({"items": items}, separators=(",", ":"))


def counters_only(text: str) -> str:
    """Of an environment what is read; any other variable may hold a secret."""
    items = load_json(text)["items"]
    for entry in items:
        for one in entry["spec"]["template"]["spec"]["containers"]:
            one["env"] = [variable for variable in one.get("env", ()) if variable["name"] == BY_POD]
    return dump_json({"items": items}, separators=(",", ":"))


SETTINGS = Probe(
    "gpu.policy-settings",
    Api("/apis/nvidia.com/v1/clusterpolicies", ("metadata.name", *(f"spec.{path}" for path in KEPT))),
    settings,
    ends=(0, 1),
)
EXPORTERS = Probe(
    "gpu.exporters",
    Api(
        "/apis/apps/v1/namespaces/$GPU_NAMESPACE/daemonsets?labelSelector=app%3Dnvidia-dcgm-exporter",
        (
            "metadata.name",
            *(f"spec.template.spec.containers.{part}" for part in ("name", "image", "env", "volumeMounts")),
            "spec.template.spec.volumes",
        ),
    ),
    exporters,
    shorten=counters_only,
)
GPU_CONFIG_MAPS = Probe(
    "gpu.config-maps",
    Api("/api/v1/namespaces/$GPU_NAMESPACE/configmaps", ("metadata.name", "data")),
    config_maps,
    shorten=keys_only,
)

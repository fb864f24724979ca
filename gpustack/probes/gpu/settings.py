"""Configuration of the GPU operator: the parts of its ClusterPolicy that faults depend on, the pods of the exporter,
and the ConfigMaps that exist."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.kubernetes.nodes import list_objects, list_objects_if_known

POLICY_FIELDS = (
    "driver.enabled", "dcgm.enabled", "devicePlugin.config", "dcgmExporter.serviceMonitor", "dcgmExporter.config",
    "cdi", "hostPaths", "daemonsets.tolerations",
)  # fmt: skip
BY_POD = "DCGM_EXPORTER_KUBERNETES"


@dataclass(frozen=True)
class PolicySettings:
    """Hold settings of a ClusterPolicy.

    `parts` are those of POLICY_FIELDS that it has at all; `plugin_config` names the device plugin's ConfigMap,
    `plugin_default` the key in it; `tolerations` are keys of taints, an empty one for all taints.
    """

    name: str
    parts: tuple[str, ...]
    driver: bool
    dcgm: bool
    plugin_config: str
    plugin_default: str
    counters_config: str
    tolerations: tuple[str, ...]


@dataclass(frozen=True)
class ExporterPod:
    """Describe the pods that a DaemonSet of the exporter makes.

    `asks_kubelet`: the kubelet is asked which pod has which GPU; `mounts_kubelet`: its folder is mounted for that.
    `config_map` has the list of counters, empty without one.
    """

    name: str
    image: str
    asks_kubelet: bool
    mounts_kubelet: bool
    config_map: str


def parse_policy_settings(answer: Answer) -> tuple[PolicySettings, ...] | None:
    """Parse the settings, or None while the API does not know the kind. Raise ValueError where it refuses for another
    reason."""
    policy_objects = list_objects_if_known(answer)
    return None if policy_objects is None else tuple(parse_policy_entry(entry) for entry in policy_objects)


def parse_policy_entry(entry: Any) -> PolicySettings:
    spec = entry.get("spec", {})
    plugin = spec.get("devicePlugin", {}).get("config") or {}
    counters = spec.get("dcgmExporter", {}).get("config") or {}
    return PolicySettings(
        entry["metadata"]["name"],
        tuple(path for path in POLICY_FIELDS if has_path(spec, path.split("."))),
        spec.get("driver", {}).get("enabled") is True,
        spec.get("dcgm", {}).get("enabled") is True,
        plugin.get("name", ""),
        plugin.get("default", ""),
        counters.get("name", ""),
        tuple(toleration.get("key", "") for toleration in spec.get("daemonsets", {}).get("tolerations") or ()),
    )


def has_path(spec: Any, path: list[str]) -> bool:
    return not path or (isinstance(spec, dict) and path[0] in spec and has_path(spec[path[0]], path[1:]))


def parse_exporters(answer: Answer) -> tuple[ExporterPod, ...]:
    return tuple(
        parse_exporter(entry["metadata"]["name"], entry["spec"]["template"]["spec"]) for entry in list_objects(answer)
    )


def parse_exporter(name: str, spec: Any) -> ExporterPod:
    container, *_ = (candidate for candidate in spec["containers"] if "dcgm" in candidate["name"])
    env = {variable["name"]: variable.get("value", "") for variable in container.get("env", ())}
    mounts = {volume_mount["mountPath"].rstrip("/") for volume_mount in container.get("volumeMounts", ())}
    maps = [volume["configMap"].get("name", "") for volume in spec.get("volumes", ()) if "configMap" in volume]
    return ExporterPod(
        name,
        container.get("image", ""),
        env.get(BY_POD, "").lower() == "true",
        any(mount.endswith("/pod-resources") for mount in mounts),
        next(iter(maps), ""),
    )


def parse_config_maps(answer: Answer) -> Mapping[str, tuple[str, ...]]:
    """Parse the keys of ConfigMaps by name."""
    return {str(entry["metadata"]["name"]): tuple(sorted(entry.get("data") or {})) for entry in list_objects(answer)}


def prune_values(text: str) -> str:
    items = [entry | {"data": dict.fromkeys(entry.get("data") or {}, "")} for entry in read_items(load_json(text))]
    return dump_json({"items": items}, separators=(",", ":"))


def prune_environment(text: str) -> str:
    """Keep the variables of an environment that are read; any other one may hold a secret."""
    items = read_items(load_json(text))
    for entry in items:
        for container in entry["spec"]["template"]["spec"]["containers"]:
            container["env"] = [variable for variable in container.get("env", ()) if variable["name"] == BY_POD]
    return dump_json({"items": items}, separators=(",", ":"))


SETTINGS = Probe(
    "gpu.policy-settings",
    Api("/apis/nvidia.com/v1/clusterpolicies", ("metadata.name", *(f"spec.{path}" for path in POLICY_FIELDS))),
    parse_policy_settings,
    exit_codes=(0, 1),
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
    parse_exporters,
    pruner=prune_environment,
)
GPU_CONFIG_MAPS = Probe(
    "gpu.config-maps",
    Api("/api/v1/namespaces/$GPU_NAMESPACE/configmaps", ("metadata.name", "data")),
    parse_config_maps,
    pruner=prune_values,
)

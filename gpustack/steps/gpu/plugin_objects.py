"""The objects that the step gpu-plugin creates in the cluster: device plugin and exporter without an operator."""

import hashlib
from typing import Any

from gpustack.ask.view import View
from gpustack.probes.gpu import engine_pods
from gpustack.probes.gpu.dcgm import APP
from gpustack.steps.applied_objects import Object, build_object
from gpustack.steps.gpu.exporter import COUNTERS, COUNTERS_KEY, REMOTE, build_environment, render_counters
from gpustack.steps.gpu.hosts import PRESENCE_LABEL, select_sharing
from gpustack.steps.gpu.metrics_objects import PORT, build_config_map
from gpustack.steps.gpu.operator_values import NO_SHARING, SHARING, format_sharing, render_plugin_config
from gpustack.steps.tolerations import build_tolerations

NAME_PREFIX = "gpustack-"
PLUGIN, EXPORTER, RUNTIME = SHARING, "gpustack-dcgm-exporter", "nvidia"
# Service of the name that NVIDIA's has: dashboards and rules know the job by it.
SERVICE = APP["app"]
PLUGIN_LABEL = "nvidia.com/device-plugin.config"
# What the plugin looks for in the driver's root, and where hosts have it: libraries and programs (with the links of
# Debian's alternatives), firmware, device nodes. Not the root itself: it has every file of the host, and its sockets,
# which a read-only mount does not keep from being used. NVIDIA/nvidia-container-toolkit v1.19.0, pkg/lookup/library.go,
# pkg/nvcdi/driver-nvml.go; NVIDIA/k8s-device-plugin v0.19.0, cmd/nvidia-device-plugin/root.go.
DRIVER_FILES = {
    "driver-usr": ("/usr", "/usr"),
    "driver-lib": ("/lib", "/usr/lib"),
    "driver-alternatives": ("/etc/alternatives", "/etc/alternatives"),
    "driver-dev": ("/dev", "/dev"),
}
Manifest = dict[str, Any]


def build_all_objects(view: View) -> list[Object]:
    """Build the objects with the counters, which the step gpu-metrics judges."""
    return [build_config_map(view), *build_objects(view)]


def build_objects(view: View) -> list[Object]:
    space = view.spec.gpu.namespace
    configurations = {
        f"{format_sharing(*sharing)}.yaml": render_plugin_config(*sharing) for sharing in list_sharings(view)
    }
    return [
        build_object("RuntimeClass", "node.k8s.io/v1", "", RUNTIME, {}, {"handler": RUNTIME}),
        build_object("ConfigMap", "v1", space, PLUGIN, {}, {"data": configurations}),
        *(
            build_daemon_set(view, name, build_plugin_pod(view, *sharing), render_plugin_config(*sharing))
            for name, sharing in map_plugins(view).items()
        ),
        build_daemon_set(view, EXPORTER, build_exporter_pod(view), render_counters(view), APP),
        build_object(
            "Service", "v1", space, SERVICE, {"labels": APP}, {"spec": build_service(view.spec.gpu.metrics.port)}
        ),
    ]


def list_sharings(view: View) -> list[tuple[str, int]]:
    """List the ways of sharing of all hosts, also of those that could not be asked. `none` is always one of them."""
    return sorted({select_sharing(view, host) for host in view.hosts} | {("none", 1)})


def map_plugins(view: View) -> dict[str, tuple[str, int]]:
    """Map the names of DaemonSets to the ways of sharing that they are for."""
    return {
        PLUGIN if format_sharing(*sharing) == NO_SHARING else f"{PLUGIN}-{format_sharing(*sharing)}": sharing
        for sharing in list_sharings(view)
    }


def build_daemon_set(
    view: View, name: str, pod: Manifest, configuration: str, labels: Manifest | None = None
) -> Object:
    """Build a DaemonSet. What the pod reads when it starts stands as a digest in its template: so a change of it starts
    new pods."""
    labels = labels or {"app": name}
    digest = hashlib.sha256(configuration.encode()).hexdigest()[:16]
    template = {"metadata": {"labels": labels, "annotations": {"gpustack/configuration": digest}}, "spec": pod}
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    spec = {"selector": {"matchLabels": labels}, "updateStrategy": update, "template": template}
    return build_object("DaemonSet", "apps/v1", view.spec.gpu.namespace, name, {"labels": labels}, {"spec": spec})


def build_placement(view: View, sharing_name: str = "") -> Manifest:
    """Build the placement on nodes with GPUs, whatever keeps other pods away; with `sharing_name` only on nodes whose
    label names it."""
    sharing_rule: Manifest = {"key": PLUGIN_LABEL, "operator": "DoesNotExist"}
    if sharing_name != NO_SHARING:
        sharing_rule = {"key": PLUGIN_LABEL, "operator": "In", "values": [sharing_name]}
    rules = [{"key": PRESENCE_LABEL, "operator": "In", "values": ["true"]}, *([sharing_rule] if sharing_name else [])]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rules}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": build_tolerations(view),
        "priorityClassName": "system-node-critical",
        "runtimeClassName": RUNTIME,
        "automountServiceAccountToken": False,
    }


# Version 0.19.0 turns them on by default, and every pod with a GPU gets all network adapters of the host for RDMA
# (NVIDIA/k8s-device-plugin issue 1692). Nothing of a fabric is set up (gpustack/steps/gpu/rdma.py).
FABRIC_DEVICES = ("GDRCOPY_ENABLED", "GDS_ENABLED", "MOFED_ENABLED")


def build_plugin_pod(view: View, mode: str, replicas: int) -> Manifest:
    """Build the device plugin's pod. GPUs reach pods by CDI: the plugin describes them in /var/run/cdi, the kubelet
    names them to containerd. It reads the driver's files below /driver-root."""
    sharing_name, version = format_sharing(mode, replicas), view.versions.components["k8s-device-plugin"]
    variables = {
        "CONFIG_FILE": f"/config/{sharing_name}.yaml",
        "DEVICE_LIST_STRATEGY": "cdi-cri",
        **dict.fromkeys(FABRIC_DEVICES, "false"),
        "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
        "NVIDIA_DRIVER_ROOT": "/",
        **build_gpu_visibility("compute,utility"),
    }
    folders = {"device-plugins": "/var/lib/kubelet/device-plugins", "cdi": "/var/run/cdi"}
    container = {
        "name": "nvidia-device-plugin",
        "image": f"nvcr.io/nvidia/k8s-device-plugin:v{version}",
        "command": ["nvidia-device-plugin"],
        "env": build_env(variables),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            *({"name": name, "mountPath": path} for name, path in folders.items()),
            *(
                {"name": name, "mountPath": f"/driver-root{path}", "readOnly": True}
                for name, (path, _) in DRIVER_FILES.items()
            ),
            {"name": "config", "mountPath": "/config", "readOnly": True},
        ],
    }
    volumes = [
        *({"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for name, path in folders.items()),
        *(
            {"name": name, "hostPath": {"path": host_path, "type": "Directory"}}
            for name, (_, host_path) in DRIVER_FILES.items()
        ),
        {"name": "config", "configMap": {"name": PLUGIN}},
    ]
    return {**build_placement(view, sharing_name), "containers": [container], "volumes": volumes}


def build_exporter_pod(view: View) -> Manifest:
    """Build the exporter's pod. It asks the kubelet which pod has which GPU. DCGM measures what only an administrator
    may. Which pod a process is of, the exporter reads below /proc of the host (internal/pkg/transformation/pidmapper.go
    of exporter 4.8.2)."""
    version = view.versions.components["dcgm-exporter"]
    folder, metrics = "/etc/dcgm-exporter", view.spec.gpu.metrics
    values = {
        "DCGM_EXPORTER_COLLECTORS": f"{folder}/{COUNTERS_KEY}",
        "DCGM_EXPORTER_KUBERNETES": "true",
        "DCGM_EXPORTER_LISTEN": metrics.listen,
        **({REMOTE: "127.0.0.1"} if view.spec.gpu.dcgm == "standalone" else {}),
        **build_environment(view.spec),
        **build_gpu_visibility("compute,utility"),
    }
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    health = {"httpGet": {"path": "/health", "port": "metrics"}}
    counters_mount = {
        "name": "counters",
        "mountPath": f"{folder}/{COUNTERS_KEY}",
        "subPath": COUNTERS_KEY,
        "readOnly": True,
    }
    container = {
        "name": "nvidia-dcgm-exporter",
        "image": f"nvcr.io/nvidia/k8s/dcgm-exporter:{version}-distroless",
        "env": [*build_env(values), node],
        "ports": [{"name": "metrics", "containerPort": metrics.port, "protocol": "TCP"}],
        "readinessProbe": {**health, "initialDelaySeconds": 5},
        "livenessProbe": {**health, "initialDelaySeconds": 45, "failureThreshold": 6},
        "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
        "volumeMounts": [
            counters_mount,
            {"name": "pod-resources", "mountPath": "/var/lib/kubelet/pod-resources", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "counters", "configMap": {"name": COUNTERS}},
        {"name": "pod-resources", "hostPath": {"path": "/var/lib/kubelet/pod-resources", "type": "Directory"}},
    ]
    containers = [container, *([build_engine_container(view)] if view.spec.gpu.dcgm == "standalone" else [])]
    host_processes = {"hostPID": True} if metrics.shared_gpus else {}
    return {
        **build_placement(view),
        **build_pod_network(view),
        **host_processes,
        "containers": containers,
        "volumes": volumes,
    }


def build_pod_network(view: View) -> Manifest:
    """Build the network of the pod: that of the host, where the exporter asks an engine of the host."""
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if view.spec.gpu.dcgm == "host" else {}


def build_engine_container(view: View) -> Manifest:
    """Build the DCGM host engine beside the exporter. It has no login and listens on the pod's loopback, as
    nv-hostengine does without -b; `kubectl exec` gives dcgmi."""
    probe = {"exec": {"command": ["dcgmi", "discovery", "-l"]}, "periodSeconds": 30, "timeoutSeconds": 15}
    return {
        "name": engine_pods.CONTAINER,
        "image": engine_pods.format_image(view.versions.components["dcgm"]),
        "command": ["nv-hostengine", "-n"],
        "env": build_env(build_gpu_visibility("compute,utility")),
        "livenessProbe": {**probe, "initialDelaySeconds": 60, "failureThreshold": 4},
        "securityContext": {"privileged": True},
    }


def build_service(port_number: int) -> Manifest:
    port = {"name": PORT, "port": port_number, "targetPort": "metrics", "protocol": "TCP"}
    return {"type": "ClusterIP", "selector": dict(APP), "ports": [port]}


def build_gpu_visibility(capabilities: str) -> dict[str, str]:
    """Build the variables by which the toolkit gives a container every GPU of its node without taking one from the
    scheduler."""
    return {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": capabilities}


def build_env(values: dict[str, str]) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in sorted(values.items())]

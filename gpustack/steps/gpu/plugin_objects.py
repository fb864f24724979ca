"""The objects that the step gpu-plugin creates in the cluster: device plugin and exporter without an operator."""

import hashlib
from typing import Any

from gpustack.ask.view import View
from gpustack.probes.gpu import engine_pods
from gpustack.probes.gpu.dcgm import APP
from gpustack.steps.applied import Object, stamped
from gpustack.steps.gpu.exporter import COUNTERS, COUNTERS_KEY, REMOTE, own_and_more, variables
from gpustack.steps.gpu.hosts import PRESENT, sharing
from gpustack.steps.gpu.metrics_objects import PORT, config_map
from gpustack.steps.gpu.operator_values import SHARING, WHOLE, key, plugin

OURS = "gpustack-"
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
Named = dict[str, Any]


def all_objects(here: View) -> list[Object]:
    """Compose the objects with the counters, which the step gpu-metrics judges."""
    return [config_map(here), *objects(here)]


def objects(here: View) -> list[Object]:
    space = here.spec.gpu.namespace
    configurations = {f"{key(*way)}.yaml": plugin(*way) for way in of(here)}
    return [
        stamped("RuntimeClass", "node.k8s.io/v1", "", RUNTIME, {}, {"handler": RUNTIME}),
        stamped("ConfigMap", "v1", space, PLUGIN, {}, {"data": configurations}),
        *(daemon_set(here, name, plugin_pod(here, *way), plugin(*way)) for name, way in plugins(here).items()),
        daemon_set(here, EXPORTER, exporter_pod(here), own_and_more(here), APP),
        stamped("Service", "v1", space, SERVICE, {"labels": APP}, {"spec": service(here.spec.gpu.metrics.port)}),
    ]


def of(here: View) -> list[tuple[str, int]]:
    """Ways of sharing of all hosts, also of those that could not be asked; none is always one."""
    return sorted({sharing(here, host) for host in here.hosts} | {("none", 1)})


def plugins(here: View) -> dict[str, tuple[str, int]]:
    """Ways of sharing by the name of the DaemonSet that is for them."""
    return {PLUGIN if key(*way) == WHOLE else f"{PLUGIN}-{key(*way)}": way for way in of(here)}


def daemon_set(here: View, name: str, pod: Named, configuration: str, labels: Named | None = None) -> Object:
    """What the pod reads when it starts stands as a digest in its template: so a change of it starts new pods."""
    labels = labels or {"app": name}
    digest = hashlib.sha256(configuration.encode()).hexdigest()[:16]
    template = {"metadata": {"labels": labels, "annotations": {"gpustack/configuration": digest}}, "spec": pod}
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    spec = {"selector": {"matchLabels": labels}, "updateStrategy": update, "template": template}
    return stamped("DaemonSet", "apps/v1", here.spec.gpu.namespace, name, {"labels": labels}, {"spec": spec})


def placed(way: str = "") -> Named:
    """On nodes with GPUs, whatever keeps other pods away; with `way` only where the node's label names it."""
    wanted: Named = {"key": PLUGIN_LABEL, "operator": "DoesNotExist"}
    if way != WHOLE:
        wanted = {"key": PLUGIN_LABEL, "operator": "In", "values": [way]}
    rules = [{"key": PRESENT, "operator": "In", "values": ["true"]}, *([wanted] if way else [])]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rules}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoSchedule"}
            for key in ("nvidia.com/gpu", "node-role.kubernetes.io/control-plane")
        ],
        "priorityClassName": "system-node-critical",
        "runtimeClassName": RUNTIME,
        "automountServiceAccountToken": False,
    }


def plugin_pod(here: View, mode: str, replicas: int) -> Named:
    """Compose the device plugin's pod. GPUs reach pods by CDI: the plugin describes them in /var/run/cdi, the kubelet
    names them to containerd. It reads the driver's files below /driver-root."""
    way, version = key(mode, replicas), here.versions.components["k8s-device-plugin"]
    variables = {
        "CONFIG_FILE": f"/config/{way}.yaml",
        "DEVICE_LIST_STRATEGY": "cdi-cri",
        "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
        "NVIDIA_DRIVER_ROOT": "/",
        **visible("compute,utility"),
    }
    folders = {"device-plugins": "/var/lib/kubelet/device-plugins", "cdi": "/var/run/cdi"}
    container = {
        "name": "nvidia-device-plugin",
        "image": f"nvcr.io/nvidia/k8s-device-plugin:v{version}",
        "command": ["nvidia-device-plugin"],
        "env": env(variables),
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
        *({"name": name, "hostPath": {"path": at, "type": "Directory"}} for name, (_, at) in DRIVER_FILES.items()),
        {"name": "config", "configMap": {"name": PLUGIN}},
    ]
    return {**placed(way), "containers": [container], "volumes": volumes}


def exporter_pod(here: View) -> Named:
    """It asks the kubelet which pod has which GPU. DCGM measures what only an administrator may."""
    version = here.versions.components["dcgm-exporter"]
    folder, metrics = "/etc/dcgm-exporter", here.spec.gpu.metrics
    values = {
        "DCGM_EXPORTER_COLLECTORS": f"{folder}/{COUNTERS_KEY}",
        "DCGM_EXPORTER_KUBERNETES": "true",
        "DCGM_EXPORTER_LISTEN": metrics.listen,
        **({REMOTE: "127.0.0.1"} if here.spec.gpu.dcgm == "standalone" else {}),
        **variables(here.spec),
        **visible("compute,utility"),
    }
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    health = {"httpGet": {"path": "/health", "port": "metrics"}}
    counted = {"name": "counters", "mountPath": f"{folder}/{COUNTERS_KEY}", "subPath": COUNTERS_KEY, "readOnly": True}
    container = {
        "name": "nvidia-dcgm-exporter",
        "image": f"nvcr.io/nvidia/k8s/dcgm-exporter:{version}-distroless",
        "env": [*env(values), node],
        "ports": [{"name": "metrics", "containerPort": metrics.port, "protocol": "TCP"}],
        "readinessProbe": {**health, "initialDelaySeconds": 5},
        "livenessProbe": {**health, "initialDelaySeconds": 45, "failureThreshold": 6},
        "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
        "volumeMounts": [
            counted,
            {"name": "pod-resources", "mountPath": "/var/lib/kubelet/pod-resources", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "counters", "configMap": {"name": COUNTERS}},
        {"name": "pod-resources", "hostPath": {"path": "/var/lib/kubelet/pod-resources", "type": "Directory"}},
    ]
    containers = [container, *([engine(here)] if here.spec.gpu.dcgm == "standalone" else [])]
    return {**placed(), **network(here), "containers": containers, "volumes": volumes}


def network(here: View) -> Named:
    """That of the host, where the exporter asks an engine of the host."""
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if here.spec.gpu.dcgm == "host" else {}


def engine(here: View) -> Named:
    """Compose the DCGM host engine beside the exporter. It has no login and listens on the pod's loopback, as
    nv-hostengine does without -b; `kubectl exec` gives dcgmi."""
    answers = {"exec": {"command": ["dcgmi", "discovery", "-l"]}, "periodSeconds": 30, "timeoutSeconds": 15}
    return {
        "name": engine_pods.CONTAINER,
        "image": engine_pods.image(here.versions.components["dcgm"]),
        "command": ["nv-hostengine", "-n"],
        "env": env(visible("compute,utility")),
        "livenessProbe": {**answers, "initialDelaySeconds": 60, "failureThreshold": 4},
        "securityContext": {"privileged": True},
    }


def service(at: int) -> Named:
    port = {"name": PORT, "port": at, "targetPort": "metrics", "protocol": "TCP"}
    return {"type": "ClusterIP", "selector": dict(APP), "ports": [port]}


def visible(capabilities: str) -> dict[str, str]:
    """By these the toolkit gives a container every GPU of its node without taking one from the scheduler."""
    return {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": capabilities}


def env(values: dict[str, str]) -> list[Named]:
    return [{"name": name, "value": value} for name, value in sorted(values.items())]

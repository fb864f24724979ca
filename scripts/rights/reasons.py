"""Reasons for the rights of each program: a sentence per workload and subject, without which the page is not
written."""

# By the start of `Kind namespace/name/container`, the longest wins.
PODS = {
    "DaemonSet monitoring/monitoring-prometheus-node-exporter": "It measures the host: its network, processes and "
    "file systems, which it reads at /host; it runs as nobody.",
    "DaemonSet gpu-operator/gpustack-device-plugin": "It registers GPUs at the kubelet's socket, describes them to "
    "containerd in /var/run/cdi, and reads the driver's files; root without capabilities, for those directories are "
    "root's.",
    "DaemonSet gpu-operator/gpustack-dcgm-exporter/nvidia-dcgm-ctr": "With gpu.dcgm standalone alone: "
    "nv-hostengine sets limits and clocks, runs diagnostics and resets GPUs, as that of NVIDIA's operator; it listens "
    "on the pod's loopback.",
    "DaemonSet gpu-operator/gpustack-dcgm-exporter": "DCGM reads profiling counters with SYS_ADMIN alone, and the "
    "kubelet's socket says which pod has which GPU.",
    "Pod gpustack-proof/proof": "One GPU for some minutes; Pod Security baseline, no token.",
    "CronJob gpu-operator/gpu-care": "With care.enabled alone: NVIDIA's diagnostic, for seconds a day, as the image's "
    "user, without a token.",
    "Deployment monitoring/gpustack-serve": "It reads Prometheus and nothing else.",
    "DaemonSet kube-flannel/kube-flannel-ds": "It makes links, routes and rules of the host's network (NET_ADMIN, "
    "NET_RAW), and its init containers put the CNI plugin and its configuration on the host.",
    "Deployment local-path-storage/local-path-provisioner": "It starts the helper pods, and has no access to the host.",
    "Pod local-path-storage/helper-pod": "It creates and deletes directories of volumes, as the image's user, which is "
    "root; the provisioner gives it the directory (rancher/local-path-provisioner v0.0.30, provisioner.go).",
    "Deployment gpu-operator/gpu-operator": "The image's user; it reads the host's release file to choose drivers.",
    "DaemonSet gpu-operator/gpu-operator-node-feature-discovery-worker": "It reads devices, modules and the kernel's "
    "configuration of the host, and takes features from a directory of the host.",
    "Deployment gpu-operator/gpu-operator-node-feature-discovery": "It labels nodes.",
    "Job gpu-operator/": "A hook of the chart, when the release is removed or changed.",
    "Deployment monitoring/": "It talks to the API and to Prometheus; no access to the host.",
    "Job monitoring/": "A hook of the chart.",
    "Prometheus monitoring/": "The operator starts it without access to the host; it discovers targets with its token.",
    "Alertmanager monitoring/": "The operator starts it without access to the host.",
    "Pod monitoring/": "The chart's test, which runs when a person asks for it.",
    "Deployment keda/": "It talks to the API; no access to the host.",
}
# By ServiceAccount: what it needs the wide permissions for, whose use is worth a thought.
ACCOUNTS = {
    "monitoring/monitoring-grafana": "Sidecars load dashboards and data sources from ConfigMaps; ours, in place of the "
    "chart's, which includes Secrets.",
    "monitoring/monitoring-operator": "It writes the configuration of each Prometheus and Alertmanager into a "
    "Secret of "
    "its namespace: who takes it has all Secrets.",
    "monitoring/monitoring-prometheus": "It discovers targets and reads the kubelets' metrics.",
    "monitoring/monitoring-kube-state-metrics": "It counts objects; ConfigMaps of all namespaces are among "
    "them, Secrets "
    "are not (collectorsExclude).",
    "gpu-operator/gpu-operator": "It installs and removes its operands, their roles and their definitions: with "
    "rights to "
    "write cluster roles, it can get any right.",
    "gpu-operator/gpu-operator-node-feature-discovery": "It writes labels of nodes.",
    "gpu-operator/node-feature-discovery": "It writes labels of nodes.",
    "gpu-operator/node-feature-discovery-gc": "It removes what gone nodes left.",
    "gpu-operator/gpu-operator-node-feature-discovery-gc": "It removes what gone nodes left.",
    "gpu-operator/node-feature-discovery-worker": "It writes what it found about its own node.",
    "gpu-operator/gpu-operator-node-feature-discovery-worker": "It writes what it found about its own node.",
    "gpu-operator/gpu-operator-node-feature-discovery-prune": "It removes labels when the release is removed.",
    "keda/keda-operator": "It scales Deployments and StatefulSets, and reads the Secrets that TriggerAuthentications "
    "name: who takes it has all Secrets. `permissions.operator.restrict.secret: true` in values/keda.yaml limits that.",
    "keda/keda-metrics-server": "It serves metrics to HorizontalPodAutoscalers.",
    "keda/keda-webhook": "It refuses ScaledObjects that contradict each other.",
    "kube-flannel/flannel": "It reads the subnets of nodes, and writes its own node's annotations and status.",
    "local-path-storage/local-path-provisioner-service-account": "It makes volumes of claims and pods that "
    "create their "
    "directories.",
    "ServiceAccount": "The API server's aggregation asks it to.",
    "kube-system/horizontal-pod-autoscaler": "It reads the metrics that KEDA serves.",
}


def find_reason(name: str, reasons: dict[str, str]) -> str:
    """Find the sentence of the longest key that a name begins with. Raise KeyError without one."""
    keys = [key for key in reasons if name.startswith(key)]
    if not keys:
        raise KeyError(f"scripts/rights/reasons.py has no sentence for {name}")
    return reasons[max(keys, key=len)]

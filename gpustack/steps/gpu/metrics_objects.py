"""The objects that the step gpu-metrics creates in the cluster."""

from typing import Any

from gpustack.ask.view import View
from gpustack.probes.gpu.dcgm import APP
from gpustack.probes.kubernetes.applied import LABEL, MANAGER
from gpustack.steps.gpu.hosts import expected
from gpustack.steps.gpu.metrics import OURS, wanted_monitor
from gpustack.steps.gpu.operator_values import COUNTERS, COUNTERS_KEY, own_and_more, patience

PORT = "gpu-metrics"  # of the exporter's Service, NVIDIA/gpu-operator assets/state-dcgm-exporter


def wanted(here: View) -> dict[str, Any]:
    """`monitor` is the name of the ServiceMonitor that is to be there, `objects` are those of ours."""
    if not expected(here):
        return {"monitor": "", "objects": []}
    name = wanted_monitor(here).name
    objects = [config_map(here)] + ([monitor(here)] if name == OURS else [])
    return {"monitor": name, "objects": objects}


def config_map(here: View) -> dict[str, Any]:
    """The operator's release brings it as well, with labels of Helm's: we set none, or each would undo the other's."""
    data = {COUNTERS_KEY: own_and_more(here)}
    metadata = {"name": COUNTERS, "namespace": here.spec.gpu.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def monitor(here: View) -> dict[str, Any]:
    """As the operator's own, under a name that the operator does not look for."""
    interval = here.spec.gpu.metrics.interval
    times = {"interval": interval, "scrapeTimeout": patience(interval)}
    endpoint = {"port": PORT, "path": "/metrics", "honorLabels": False, **times}
    spec = {"jobLabel": "app", "selector": {"matchLabels": dict(APP)}, "endpoints": [endpoint]}
    kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    metadata = {"name": OURS, "namespace": here.spec.gpu.namespace, "labels": {LABEL: MANAGER}}
    return {**kind, "metadata": metadata, "spec": spec}

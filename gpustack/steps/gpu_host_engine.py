"""Check of step gpu-metrics on a DCGM host engine of the host's own."""

from gpustack.ask.judge import Mismatch
from gpustack.ask.view import View
from gpustack.probes.network import LISTENERS
from gpustack.steps.gpu_hosts import expected, on_hosts

ENGINE = "nv-hostengine"
SETTING = "DCGM_REMOTE_HOSTENGINE_INFO"


def host_engine(here: View) -> Mismatch | None:
    """One host engine asks the GPUs of a host. The exporter brings its own; DGX OS and others run one as nvidia-dcgm
    (port 5555), and with two the profiling counters are nobody's, and the driver may come to a deadlock
    (NVIDIA/dcgm-exporter issue 61, NVIDIA/DCGM issue 108).

    Either that of the host ends, or the exporter takes it: in values/gpu-operator.yaml the variable
    DCGM_REMOTE_HOSTENGINE_INFO in dcgmExporter.env, as `$(NODE_IP):5555`, with an engine that listens there
    (nv-hostengine -b ALL) and is no newer than the exporter's."""
    if not expected(here) or taken_by_values(here):
        return None
    there = {host: here.on(host) for host in expected(here)}
    found = {host: [one.port for one in view[LISTENERS] if one.process == ENGINE] for host, view in there.items()}
    wrong = {host: f"{ENGINE} on port {ports[0]}" for host, ports in found.items() if ports}
    hint = "systemctl disable --now nvidia-dcgm    # or the exporter uses it: gpustack explain gpu-metrics/host-engine"
    return on_hosts("host engines of DCGM", "that of the exporter alone", wrong, "operator", hint)


def taken_by_values(here: View) -> bool:
    """The operator's values have the exporter ask an engine of somebody else's."""
    theirs = here.snapshot.inventory.values.get("gpu-operator", {}).get("dcgmExporter", {})
    return here.spec.gpu.stack == "operator" and any(one.get("name") == SETTING for one in theirs.get("env") or ())

"""Whether a host with GPUs has a DCGM host engine that is not ours. The exporter has one of its own.

NVIDIA does not support two of them on one host (NVIDIA/DCGM issue 108). What certainly fails are the profiling fields:
on GPUs before Hopper only one process can use the hardware behind them (NVIDIA/dcgm-exporter issues 7 and 61); from
Hopper on the driver itself measures them. All other fields can be read next to another engine.
"""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.gpu.host_engines import HOST_ENGINES, HostEngines
from gpustack.steps.gpu.hosts import expected, on_hosts

CORE = ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager")


def foreign_engines(here: View) -> Result | None:
    """Raises FactUnavailable if it is unknown on a host with GPUs. Not checked with `keep`."""
    if here.spec.gpu.metrics.host_engine == "keep":
        return None
    found = {host: here.on(host)[HOST_ENGINES] for host in expected(here)}
    wrong = {host: described(one) for host, one in found.items() if one.running}
    units = sorted({engine.unit for one in found.values() for engine in one.running})
    stops = [stopping(unit) for unit in units]
    hint = f"{'; '.join(stops)}    # on that host; or keep it: gpu.metrics.host_engine: keep in the spec"
    return on_hosts("DCGM host engines other than the exporter's", "none", wrong, "operator", hint)


def described(found: HostEngines) -> str:
    """The running engines, their addresses, and the version of DCGM if it comes from a package."""
    words = [f"{one.unit} ({one.address or 'no TCP port'})" for one in found.running]
    version = next((found.packages[name] for name in CORE if name in found.packages), "")
    return ", ".join(words) + (f", DCGM {version}" if version else "")


def stopping(unit: str) -> str:
    """A process without a service is stopped by the person who started it."""
    if unit.endswith(".service"):
        return f"systemctl disable --now {unit.removesuffix('.service')}"
    return "nv-hostengine --term"

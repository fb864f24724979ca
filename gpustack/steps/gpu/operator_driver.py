"""Checks of step gpu-operator for drivers in containers: nothing that install does changes the driver under running
pods.

The DaemonSet of the driver is OnDelete (NVIDIA/gpu-operator v26.7.0, assets/state-driver), and with
driver.upgradePolicy.autoUpgrade: false the operator deletes none of its pods. Whoever does lets NVIDIA's driver manager
evict all pods with GPUs of the node before it unloads the module (NVIDIA/k8s-driver-manager v0.12.0,
cmd/driver-manager).
"""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.resolution import resolve_driver_version
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.holding_pods import HOLDING_PODS
from gpustack.steps.gpu.hosts import build_hosts_result, count_host_gpus
from gpustack.steps.gpu.mode import choose_driver_mode
from gpustack.steps.gpu.operator_values import DRIVER, uses_driver_containers

UPGRADE = Command("gpustack", "explain", "driver-upgrade")


def driver_containers(view: View) -> Result | None:
    """The driver containers have loaded the version and the type of module that the spec requests, and go nowhere.

    Another version or type is an upgrade, which ends every pod with a GPU on those nodes; the check names the pods that
    hold GPUs there now. So does the way from driver containers to another mode. Install does neither: `gpustack explain
    driver-upgrade` has the steps, or set gpu.driver.version and gpu.driver.kernel_module to what runs.
    """
    daemon_sets = [name for name, workload in view[GPU_DAEMON_SETS].items() if name.startswith(DRIVER)]
    if not any(view[GPU_DAEMON_SETS][name].desired_pods for name in daemon_sets):
        return None
    host_views = [view.select_host(host) for host in count_host_gpus(view)]
    if not uses_driver_containers(view):
        actual_states = {
            host_view.location: describe_container(host_view) for host_view in host_views if has_module(host_view)
        }
        return build_hosts_result(
            "driver containers", "none, for no host is to have one", actual_states, "upgrade", UPGRADE
        )
    expected_driver = resolve_driver_version(view.spec), view.spec.gpu.driver.kernel_module
    actual_states = {
        host_view.location: describe_container(host_view)
        for host_view in host_views
        if choose_driver_mode(host_view) == "container" and has_other_module(host_view, *expected_driver)
    }
    return build_hosts_result("driver containers", ", ".join(expected_driver), actual_states, "upgrade", UPGRADE)


def has_module(view: View) -> bool:
    return bool(view[GPU_DRIVER].module)


def has_other_module(view: View, version: str, kind: str) -> bool:
    """Tell whether the host has loaded another module. A type that the module does not say is no difference."""
    driver = view[GPU_DRIVER]
    return has_module(view) and (driver.module != version or driver.kind not in ("", kind))


def describe_container(view: View) -> str:
    """Describe the loaded driver of a host, and the pods that end with it."""
    driver = view[GPU_DRIVER]
    words = ", ".join(filter(None, (driver.module, driver.kind)))
    if not view.has_fact(HOLDING_PODS):
        return f"{words} (which pods end with it is unknown)"
    pods = view[HOLDING_PODS]
    return f"{words} ({'ends ' + format_value(pods) if pods else 'no pod holds a GPU'})"

"""Faults of the layer `containerd` that keep pods from starting or ending, according to the running daemon."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.containerd.pods import NETWORK, SANDBOX, STUCK_CONTAINERS, parse_registry

# Seconds within which the daemon notices a new file.
RELOAD_TIME = 30


@check("containerd-cni-status-stale", NETWORK)
def network_not_noticed(view: View) -> Result:
    """Check that containerd has loaded the file of the pod network. It may report a missing file that has existed for
    some time."""
    network, subject = view[NETWORK], "pod network of the running containerd"
    if network.ready or network.newest is None or "no network config found" not in network.reason:
        return build_ok_result(subject, "ready" if network.ready else network.reason or "not ready")
    if network.newest < RELOAD_TIME:
        raise FactUnavailable(f"the newest file of the network is {network.newest} s old; containerd may still load it")
    return Result(subject, "ready", f"{network.reason}, although its file is {network.newest} s old")


@check("containerd-sandbox-image-unpullable", SANDBOX)
def pause_image(view: View) -> Result:
    """Look for a missing sandbox image that could not be pulled in the last 15 minutes."""
    sandbox = view[SANDBOX]
    if sandbox.present or not sandbox.pull_error:
        return build_ok_result(
            f"image {sandbox.image}", "present" if sandbox.present else "missing, but not pulled recently"
        )
    return Result(f"image {sandbox.image}", "present", sandbox.pull_error)


@check("containerd-sandbox-image-unpullable guard", SANDBOX)
def pause_image_alone(view: View) -> Result:
    """Check that other images were pulled, from the same registry or, where the name is wrong, from another one."""
    sandbox = view[SANDBOX]
    location = "from the same registry" if parse_registry(sandbox.image) in sandbox.registries else "from others"
    actual = f"present, {location}: {format_value(sandbox.registries)}"
    return Result("other images", "present", actual if sandbox.registries else "none", ok=not sandbox.registries)


@check("st-pods-stuck-terminating", STUCK_CONTAINERS)
def containers_do_not_end(view: View) -> Result:
    """Look for containers that could not be stopped in the last 15 minutes. The kubelet retries every few minutes."""
    return Result("containers to stop", "stopped", view[STUCK_CONTAINERS] or "stopped", ok=not view[STUCK_CONTAINERS])

"""Faults of the layer `containerd` that keep pods from starting or ending, as the running daemon says them."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.containerd.pods import NETWORK, SANDBOX, STUCK, registry

# Seconds that the daemon needs at most to see a file come.
NOTICED = 30


@check("containerd-cni-status-stale", NETWORK)
def network_not_noticed(here: View) -> Result:
    """containerd reports a missing file although the file has existed for some time."""
    found, what = here[NETWORK], "pod network of the running containerd"
    if found.ready or found.newest is None or "no network config found" not in found.why:
        return ok(what, "ready" if found.ready else found.why or "not ready")
    if found.newest < NOTICED:
        raise FactUnavailable(f"the newest file of the network is {found.newest} s old; containerd may still load it")
    return Result(what, "ready", f"{found.why}, although its file is {found.newest} s old")


@check("containerd-sandbox-image-unpullable", SANDBOX)
def pause_image(here: View) -> Result:
    """The image is missing, and pulling it failed in the last 15 minutes."""
    found = here[SANDBOX]
    if found.there or not found.failed:
        return ok(f"image {found.image}", "present" if found.there else "missing, but not pulled recently")
    return Result(f"image {found.image}", "present", found.failed)


@check("containerd-sandbox-image-unpullable guard", SANDBOX)
def pause_image_alone(here: View) -> Result:
    """Other images were pulled, from its registry or, with a wrong name, from another one."""
    found = here[SANDBOX]
    where = "from the same registry" if registry(found.image) in found.registries else "from others"
    now = f"present, {where}: {as_text(found.registries)}"
    return Result("other images", "present", now if found.registries else "none", ok=not found.registries)


@check("st-pods-stuck-terminating", STUCK)
def containers_do_not_end(here: View) -> Result:
    """In the last 15 minutes: the kubelet retries every few minutes."""
    return Result("containers to stop", "stopped", here[STUCK] or "stopped", ok=not here[STUCK])


CHECKS = (network_not_noticed, pause_image, pause_image_alone, containers_do_not_end)

"""Containers with GPUs, without an operator: the NVIDIA Container Toolkit on the hosts that have GPUs.

For `gpu.stack: host`; with the operator, its own container installs the same programs, and this step applies to no
host. On a host without GPUs it does nothing.

What it does: adds NVIDIA's apt repository of the toolkit, whose key is trusted only by fingerprint; installs and holds
nvidia-container-toolkit at the version of the version set; writes /etc/containerd/conf.d/gpustack-nvidia.toml, which
adds a runtime named `nvidia` next to runc to containerd, and restarts containerd if that file changed (containers keep
running); lets the toolkit write the CDI specification of the GPUs to /var/run/cdi/nvidia.yaml.

What it never does: it does not make `nvidia` the runtime of a pod that does not request it, does not run `nvidia-ctk
runtime configure` (which rewrites config.toml and loses its comments), and leaves
/etc/nvidia-container-runtime/config.toml to you. If the operator's toolkit is still on a host, it stops and reports it.

Not yet tested on hardware: it was run with the toolkit's real programs and simulated GPUs.

Settings: `gpu.stack`, `source`, `fingerprints.toolkit`.

Sources: NVIDIA Container Toolkit, installation guide and CDI support; docs/decisions/0004-containerd-config.md.
"""

from typing import Any

from gpustack.ask.judge import Result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.runtime import DROP_IN, RUNTIME_FILES, TOOLKIT_REPOSITORY
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.steps.apt_repository import find_repository_mismatch
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.step import Step, check_where

PACKAGES = ("nvidia-container-toolkit-base", "nvidia-container-toolkit")
PROGRAM = "/usr/bin/nvidia-container-runtime"
# What the operator's toolkit writes (NVIDIA/nvidia-container-toolkit cmd/nvidia-ctk-installer).
OPERATOR_DROP_IN = "/etc/containerd/conf.d/99-nvidia.toml"


def other_runtimes(view: View) -> Result | None:
    """The runtime nvidia is defined by no other file of containerd: the operator's toolkit writes one, and so does
    nvidia-ctk. Which of the two applies would depend on the names of the files."""
    files = view[RUNTIME_FILES].other_files
    if not files:
        return None
    hint = Prose("take the runtime nvidia out of {}; systemctl restart containerd", files[0])
    if OPERATOR_DROP_IN in files:
        spec = view.spec.gpu
        hint = Prose(
            "{} on the control plane; then {} on this host",
            Command("helm", "uninstall", spec.release, "-n", spec.namespace),
            Command("rm", "-f", OPERATOR_DROP_IN),
            note="or keep the operator: gpu.stack: operator in the spec",
        )
    return Result("other definitions of the runtime nvidia", "none", format_value(files), "operator", hint=hint)


def repository(view: View) -> Result | None:
    """The apt repository of the toolkit is configured with the expected key and no other."""
    return find_repository_mismatch(view, "toolkit", TOOLKIT_REPOSITORY)


def packages_installed(view: View) -> Result | None:
    """The toolkit is installed."""
    missing_packages = [name for name in PACKAGES if name not in view[GPU_PACKAGES]]
    return Result("packages", "installed", f"missing: {format_value(missing_packages)}") if missing_packages else None


def version(view: View) -> Result | None:
    """The toolkit has the version of the version set."""
    packages, expected_version = view[GPU_PACKAGES], view.versions.components["nvidia-container-toolkit"]
    mismatched_packages = [
        f"{name} {packages[name].version}"
        for name in PACKAGES
        if name in packages and packages[name].version != expected_version
    ]
    hint = Command("gpustack", "explain", "upgrade-needed")
    return (
        Result("container toolkit", expected_version, format_value(mismatched_packages), "upgrade", hint=hint)
        if mismatched_packages
        else None
    )


def packages_held(view: View) -> Result | None:
    """The packages are on hold, so that an upgrade of the host does not change them."""
    unheld_packages = [name for name in PACKAGES if (package := view[GPU_PACKAGES].get(name)) and not package.held]
    return Result("packages", "held", f"not held: {format_value(unheld_packages)}") if unheld_packages else None


def build_drop_in() -> dict[str, Any]:
    """Build what conf.d/gpustack-nvidia.toml says (roles/gpu_runtime/files), as containerd reads it."""
    options = {"BinaryName": PROGRAM, "SystemdCgroup": True}
    runtimes = {"nvidia": {"runtime_type": "io.containerd.runc.v2", "options": options}}
    return {"version": 3, "plugins": {"io.containerd.cri.v1.runtime": {"containerd": {"runtimes": runtimes}}}}


def configuration(view: View) -> Result | None:
    """The configuration file of gpustack for containerd has the expected content."""
    runtime_files = view[RUNTIME_FILES]
    if runtime_files.drop_in == build_drop_in():
        return None
    actual = (
        f"invalid TOML: {runtime_files.parse_error}"
        if runtime_files.parse_error
        else "different"
        if runtime_files.drop_in
        else "nothing"
    )
    return Result(DROP_IN, "gpustack's content", actual)


def running(view: View) -> Result | None:
    """The running containerd has the runtime nvidia."""
    runtime = view[RUNTIME]
    return expect("runtime nvidia of the running containerd", PROGRAM, runtime.nvidia if runtime else "")


def devices(view: View) -> Result | None:
    """The CDI specification names every GPU that is for Kubernetes."""
    expected_count = count_gpus(view)
    if not expected_count:
        return None
    actual_count = len(view[RUNTIME_FILES].devices)
    if actual_count != expected_count:
        return Result("GPUs in the CDI specification", str(expected_count), str(actual_count))
    return None


STEP = Step(
    "gpu-runtime",
    scope="host",
    needs=("containerd", "gpu-driver"),
    probes=(OS, GPU_DEVICES, GPU_PACKAGES, TOOLKIT_REPOSITORY, SOURCES, RUNTIME_FILES, RUNTIME),
    checks=(
        *check_where(
            list_gpus, other_runtimes, repository, packages_installed, version, packages_held, configuration, running
        ),
        devices,  # also where the bus has lost all GPUs of the inventory
    ),
    settle_seconds=30,
    is_enabled=lambda inventory: inventory.spec.gpu.stack == "host",
)

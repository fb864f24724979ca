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

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.runtime import DROP_IN, RUNTIME_FILES, TOOLKIT_REPOSITORY
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.steps.apt_repository import repository_mismatch
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.step import Step

PACKAGES = ("nvidia-container-toolkit-base", "nvidia-container-toolkit")
PROGRAM = "/usr/bin/nvidia-container-runtime"
# What the operator's toolkit writes (NVIDIA/nvidia-container-toolkit cmd/nvidia-ctk-installer).
OPERATORS = "/etc/containerd/conf.d/99-nvidia.toml"


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.gpu.stack == "host" and not host.standalone


def other_runtimes(here: View) -> Result | None:
    """No other file of containerd defines the runtime nvidia: the operator's toolkit writes one, and so does
    nvidia-ctk. Which of the two applies would depend on the names of the files."""
    found = here[RUNTIME_FILES].others if gpus(here) else ()
    if not found:
        return None
    hint = Prose("take the runtime nvidia out of {}; systemctl restart containerd", found[0])
    if OPERATORS in found:
        spec = here.spec.gpu
        hint = Prose(
            "{} on the control plane; then {} on this host",
            Command("helm", "uninstall", spec.release, "-n", spec.namespace),
            Command("rm", "-f", OPERATORS),
            note="or keep the operator: gpu.stack: operator in the spec",
        )
    return Result("other definitions of the runtime nvidia", "none", as_text(found), "operator", hint=hint)


def repository(here: View) -> Result | None:
    """The apt repository of the toolkit is configured with the expected key and no other."""
    return repository_mismatch(here, "toolkit", TOOLKIT_REPOSITORY) if gpus(here) else None


def installed(here: View) -> Result | None:
    """The toolkit is installed."""
    if not gpus(here):
        return None
    missing = [name for name in PACKAGES if name not in here[GPU_PACKAGES]]
    return Result("packages", "installed", f"missing: {as_text(missing)}") if missing else None


def version(here: View) -> Result | None:
    """The toolkit has the version of the version set."""
    if not gpus(here):
        return None
    there, wanted = here[GPU_PACKAGES], here.versions.components["nvidia-container-toolkit"]
    wrong = [f"{name} {there[name].version}" for name in PACKAGES if name in there and there[name].version != wanted]
    hint = Command("gpustack", "explain", "upgrade-needed")
    return Result("container toolkit", wanted, as_text(wrong), "upgrade", hint=hint) if wrong else None


def held(here: View) -> Result | None:
    """The packages are on hold, so that an upgrade of the host does not change them."""
    if not gpus(here):
        return None
    loose = [name for name in PACKAGES if (found := here[GPU_PACKAGES].get(name)) and not found.held]
    return Result("packages", "held", f"not held: {as_text(loose)}") if loose else None


def drop_in() -> dict[str, Any]:
    """What conf.d/gpustack-nvidia.toml says (roles/gpu_runtime/files), as containerd reads it."""
    options = {"BinaryName": PROGRAM, "SystemdCgroup": True}
    runtimes = {"nvidia": {"runtime_type": "io.containerd.runc.v2", "options": options}}
    return {"version": 3, "plugins": {"io.containerd.cri.v1.runtime": {"containerd": {"runtimes": runtimes}}}}


def configuration(here: View) -> Result | None:
    """Our configuration file for containerd has the expected content."""
    if not gpus(here):
        return None
    found = here[RUNTIME_FILES]
    if found.drop_in == drop_in():
        return None
    actual = f"invalid TOML: {found.broken}" if found.broken else "different" if found.drop_in else "nothing"
    return Result(DROP_IN, "gpustack's content", actual)


def running(here: View) -> Result | None:
    """The running containerd has the runtime nvidia."""
    if not gpus(here):
        return None
    found = here[RUNTIME]
    return expect("runtime nvidia of the running containerd", PROGRAM, found.nvidia if found else "")


def devices(here: View) -> Result | None:
    """The CDI specification names every GPU that is for Kubernetes."""
    wanted = gpu_count(here)
    if not wanted:
        return None
    found = len(here[RUNTIME_FILES].devices)
    return Result("GPUs in the CDI specification", str(wanted), str(found)) if found != wanted else None


STEP = Step(
    "gpu-runtime",
    scope="host",
    needs=("containerd", "gpu-driver"),
    probes=(OS, GPU_DEVICES, GPU_PACKAGES, TOOLKIT_REPOSITORY, SOURCES, RUNTIME_FILES, RUNTIME),
    checks=(other_runtimes, repository, installed, version, held, configuration, running, devices),
    settle=30,
    applies=applies,
)

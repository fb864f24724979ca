"""How the driver of a host's GPUs is installed: by the operator in containers, by packages on the host, or by other
means.

Set by `gpu.driver.mode` of the spec. With `auto`: packages on the host without an operator or without Kubernetes, and
on Debian, for which no driver container is built; elsewhere packages if NVIDIA's are installed already, none if the
libraries of another driver are on the host, otherwise containers. Packages newer than those of the version set are
managed by their owner: none. A driver container leaves no libraries on its host, so the module that it loads is not
mistaken for another driver.
"""

from typing import Literal

from gpustack.ask.view import View
from gpustack.config.resolved import driver_version_of
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import OS
from gpustack.steps.gpu.count import gpus

Mode = Literal["container", "host", "none"]

# Computing without graphics, by system: the libraries with nvidia-smi, and the module of either kind. NVIDIA's Driver
# Installation Guide, "Compute-only System".
LIBRARIES = {"debian": "nvidia-driver-cuda", "ubuntu": "libnvidia-compute"}
MODULES = {
    "debian": {"open": "nvidia-kernel-open-dkms", "proprietary": "nvidia-kernel-dkms"},
    "ubuntu": {"open": "nvidia-dkms-open", "proprietary": "nvidia-dkms"},
}
# Of exactly the driver's version; up to branch 575 with the branch in its name (NVIDIA/gpu-driver-container).
FABRIC, FABRIC_UNBRANCHED = "nvidia-fabricmanager", 580

# The first branch that names for Ubuntu do not have in them: those that do end with 580 (pull 89 of
# NVIDIA/ansible-role-nvidia-driver). Up to 580.65 nvidia-smi is in nvidia-utils-BRANCH, which is empty after that
# (NVIDIA/k8s-test-infra, deployments/nvml-mock/Dockerfile), and gone in later branches.
UNBRANCHED = 590
# On Debian the libraries depend on it.
PERSISTENCED = "nvidia-persistenced"

# Debian's own archive has a package of this name as well.
DEBIAN_TOO = "nvidia-kernel-dkms"


def mode(here: View) -> Mode:
    """Of a host that has GPUs. Raises FactUnavailable."""
    stated = here.spec.gpu.driver.mode
    if stated != "auto":
        return stated
    if newer_than_ours(here):
        return "none"
    if here.spec.gpu.stack == "host" or here.host.standalone or here[OS].id == "debian":
        return "host"
    there = here[GPU_PACKAGES]
    if any(name in there for name in (LIBRARIES["ubuntu"], *MODULES["ubuntu"].values())):
        return "host"
    return "none" if here[GPU_DRIVER].library else "container"


def newer_than_ours(here: View) -> bool:
    """NVIDIA's packages, or what its .run installer brought, are of a later version than the version set's, and the
    spec names none."""
    if here.spec.gpu.driver.version:
        return False
    installed = here[GPU_DRIVER]
    there, ours = here[GPU_PACKAGES], parts(driver_version_of(here.spec))
    names = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())} - {DEBIAN_TOO}
    if any(parts(there[name].version) > ours for name in names if name in there):
        return True
    return installed.uninstaller and parts(installed.module) > ours


def parts(version: str) -> tuple[int, ...]:
    """Empty for what is no version of NVIDIA's driver."""
    words = version.split(".")
    return tuple(map(int, words)) if all(word.isdigit() for word in words) else ()


def driven(here: View, *modes: Mode) -> bool:
    """The host has GPUs for Kubernetes, and their driver comes in one of these ways."""
    return bool(gpus(here)) and mode(here) in modes


def wanted(here: View) -> tuple[str, ...]:
    """The packages with the libraries and with the module, then those that neither of the two brings; where switches
    join the GPUs, the Fabric Manager too."""
    if not switched(here):
        return driver_packages(here)
    branch = branch_of(here)
    return *driver_packages(here), FABRIC if branch >= FABRIC_UNBRANCHED else f"{FABRIC}-{branch}"


def driver_packages(here: View) -> tuple[str, ...]:
    kind = here.spec.gpu.driver.kernel_module
    if here[OS].id == "debian":
        return LIBRARIES["debian"], MODULES["debian"][kind]
    libraries, module = LIBRARIES["ubuntu"], MODULES["ubuntu"][kind]
    branch = branch_of(here)
    if branch >= UNBRANCHED:
        return libraries, module, PERSISTENCED
    of_branch = module.replace("nvidia-dkms", f"nvidia-dkms-{branch}")
    return f"{libraries}-{branch}", of_branch, PERSISTENCED, f"nvidia-utils-{branch}"


def branch_of(here: View) -> int:
    return int(driver_version_of(here.spec).partition(".")[0])


def switched(here: View) -> bool:
    """The bus has NVSwitches, as HGX A100, H100 and H200 have. Those of NVLink 5 are on no bus of the host's."""
    files = here[PLUGIN_FILES]
    return files is not None and files.switches > 0

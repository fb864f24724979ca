"""The way in which the driver of a host's GPUs is installed: by the operator in containers, by packages on the host, or
by other means.

It is set by `gpu.driver.mode` of the spec. With `auto`: none if the host has a driver that gpustack did not install, by
the record of the host; else packages on the host without an operator or without Kubernetes, and on Debian, for which no
driver container is built; elsewhere packages if gpustack installed some before, otherwise containers. Packages newer
than those of the version set are managed by their owner as well. A driver container leaves no libraries on its host, so
the module that it loads is not mistaken for another driver. Recordings of before do not say who installed a driver:
there NVIDIA's packages count as gpustack's.
"""

import re
from typing import Literal

from gpustack.ask.view import View
from gpustack.config.resolution import resolve_driver_version
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import OS
from gpustack.steps.gpu.count import list_gpus

Mode = Literal["container", "host", "none"]

# Computing without graphics, by system: the libraries with nvidia-smi, and the module of either kind. NVIDIA's Driver
# Installation Guide, "Compute-only System".
LIBRARIES = {"debian": "nvidia-driver-cuda", "ubuntu": "libnvidia-compute"}
MODULES = {
    "debian": {"open": "nvidia-kernel-open-dkms", "proprietary": "nvidia-kernel-dkms"},
    "ubuntu": {"open": "nvidia-dkms-open", "proprietary": "nvidia-dkms"},
}
# The package has exactly the driver's version. Up to branch 575 its name has the branch (NVIDIA/gpu-driver-container).
FABRIC, UNNUMBERED_FABRIC_BRANCH = "nvidia-fabricmanager", 580

# The first branch whose packages for Ubuntu have no branch in their names: 580 is the last that has one (pull 89 of
# NVIDIA/ansible-role-nvidia-driver). Up to 580.65 nvidia-smi is in nvidia-utils-BRANCH, which is empty after that
# (NVIDIA/k8s-test-infra, deployments/nvml-mock/Dockerfile), and gone in later branches.
UNNUMBERED_BRANCH = 590
# On Debian the libraries depend on it.
PERSISTENCE_DAEMON = "nvidia-persistenced"

# Debian's own archive has a package of this name as well.
DEBIAN_NAMESAKE = "nvidia-kernel-dkms"
# Debian's own packages of a driver: NVIDIA's conflict with them.
DEBIAN_PACKAGES = ("nvidia-smi", "nvidia-open-kernel-dkms", "nvidia-tesla-driver", "nvidia-tesla-kernel-dkms")
# Any package with a module for DKMS, of NVIDIA's repository or of a distribution.
MODULE = re.compile(r"nvidia-(dkms(-\d+)?(-server)?(-open)?|kernel(-open)?-dkms)")


def choose_driver_mode(view: View) -> Mode:
    """Choose the mode of a host that has GPUs. Raise FactUnavailable."""
    spec_mode = view.spec.gpu.driver.mode
    if spec_mode != "auto":
        return spec_mode
    if has_newer_driver(view) or has_owner_driver(view):
        return "none"
    if view.spec.gpu.stack == "host" or view.host.standalone or view[OS].id == "debian":
        return "host"
    packages = view[GPU_PACKAGES]
    if any(name in packages for name in (LIBRARIES["ubuntu"], *MODULES["ubuntu"].values())):
        return "host"
    return "none" if view[GPU_DRIVER].library else "container"


def has_owner_driver(view: View) -> bool:
    """Tell whether the host has a driver, or a part of one, that gpustack did not install."""
    driver = view[GPU_DRIVER]
    if driver.installer != "others":
        return False
    modules = [name for name in view[GPU_PACKAGES] if MODULE.fullmatch(name) or name in DEBIAN_PACKAGES]
    return bool(driver.library or driver.uninstaller or modules)


def has_newer_driver(view: View) -> bool:
    """Tell whether NVIDIA's packages, or what its .run installer brought, are of a later version than the version
    set's, and the spec names none."""
    if view.spec.gpu.driver.version:
        return False
    driver = view[GPU_DRIVER]
    packages, spec_version = view[GPU_PACKAGES], parse_version(resolve_driver_version(view.spec))
    names = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())} - {DEBIAN_NAMESAKE}
    if any(parse_version(packages[name].version) > spec_version for name in names if name in packages):
        return True
    return driver.uninstaller and parse_version(driver.module) > spec_version


def parse_version(version: str) -> tuple[int, ...]:
    """Parse a version; empty for what is no version of NVIDIA's driver."""
    words = version.split(".")
    return tuple(map(int, words)) if all(word.isdigit() for word in words) else ()


def uses_driver_mode(view: View, *modes: Mode) -> bool:
    """Tell whether the host has GPUs for Kubernetes, and their driver comes in one of these ways."""
    return bool(list_gpus(view)) and choose_driver_mode(view) in modes


def list_expected_packages(view: View) -> tuple[str, ...]:
    """List the packages with the libraries and with the module, then those that neither of the two installs; where
    switches join the GPUs, the Fabric Manager too."""
    if not has_nvswitches(view):
        return list_driver_packages(view)
    branch = parse_branch(view)
    return *list_driver_packages(view), FABRIC if branch >= UNNUMBERED_FABRIC_BRANCH else f"{FABRIC}-{branch}"


def list_driver_packages(view: View) -> tuple[str, ...]:
    kind = view.spec.gpu.driver.kernel_module
    if view[OS].id == "debian":
        return LIBRARIES["debian"], MODULES["debian"][kind]
    libraries, module = LIBRARIES["ubuntu"], MODULES["ubuntu"][kind]
    branch = parse_branch(view)
    if branch >= UNNUMBERED_BRANCH:
        return libraries, module, PERSISTENCE_DAEMON
    branch_module = module.replace("nvidia-dkms", f"nvidia-dkms-{branch}")
    return f"{libraries}-{branch}", branch_module, PERSISTENCE_DAEMON, f"nvidia-utils-{branch}"


def parse_branch(view: View) -> int:
    return int(resolve_driver_version(view.spec).partition(".")[0])


def has_nvswitches(view: View) -> bool:
    """Tell whether the bus has NVSwitches, as HGX A100, H100 and H200 have. Those of NVLink 5 are on no bus of the
    host's."""
    files = view[PLUGIN_FILES]
    return files is not None and files.switches > 0

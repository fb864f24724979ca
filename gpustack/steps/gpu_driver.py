"""The NVIDIA driver of hosts that have GPUs. On a host without one there is nothing to do, and nothing to say.

Who brings the driver is `gpu.driver.mode`: `container` (the GPU Operator, in containers), `host` (packages of NVIDIA's
CUDA repository) or `none` (somebody else has). `auto` means host on Debian, for which no driver container is built, and
without an operator; on Ubuntu host where NVIDIA's packages are there already, none where another driver is, else
container.

What it does, in mode host: lets apt know NVIDIA's repository, its key trusted only by fingerprint; binds apt to the
version of the spec before anything else (the pinning package of that version, else that of its branch); installs the
headers of the kernels, the libraries and the module's source, which DKMS builds, and the Fabric Manager where
NVSwitches join the GPUs; keeps nouveau away; loads the module and lets nvidia-persistenced and nvidia-fabricmanager
run. Then it guards the driver: packages are held, unattended upgrades leave them alone, and the kernel that boots next
has headers and a module. In mode container it only keeps nouveau away.

What it never does: it moves no installed driver to another version, removes no driver of another origin, turns Secure
Boot neither on nor off, and reboots no host. To change the version, on one host after the other: drain it; `apt-get
install --allow-change-held-packages nvidia-driver-pinning-VERSION`; in the same way nvidia-driver-cuda=VERSION-* and
nvidia-kernel-open-dkms=VERSION-* (or what the check names); reboot; uncordon.

Not yet proven on hardware: the build by DKMS, the module in a real kernel, Secure Boot with an enrolled key, and all of
it on Ubuntu. Simulated drivers in a lab show the rest.

Settings: `gpu.driver`, `gpu.stack`, `source`, `fingerprints.nvidia`.

Sources: NVIDIA Driver Installation Guide (Debian, Ubuntu, version locking); NVIDIA/gpu-driver-container Makefile.
"""

from gpustack.probes.dpkg import SOURCES
from gpustack.probes.gpu import GPU_DEVICES
from gpustack.probes.gpu_driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu_packages import GPU_GUARD, GPU_KERNELS, GPU_PACKAGES, GPU_REPOSITORY
from gpustack.probes.gpu_plugin_files import PLUGIN_FILES
from gpustack.probes.system import OS
from gpustack.steps import gpu_driver_packages, gpu_driver_running
from gpustack.steps.gpu_fabric import fabric, fabric_manager
from gpustack.steps.gpu_generation import generation
from gpustack.steps.step import Step

# The last one may find a driver that is stuck.
STEP = Step(
    "gpu-driver",
    scope="host",
    needs=("prereqs",),
    probes=(
        OS, GPU_DEVICES, GPU_PACKAGES, GPU_REPOSITORY, SOURCES, GPU_KERNELS, GPU_GUARD, GPU_DRIVER,
        PLUGIN_FILES, GPU_SMI),
    checks=(
        generation, fabric, *gpu_driver_running.BEFORE, gpu_driver_packages.other_drivers, *gpu_driver_packages.CHECKS,
        *gpu_driver_running.CHECKS, fabric_manager,
    ),
    settle=30,
)  # fmt: skip

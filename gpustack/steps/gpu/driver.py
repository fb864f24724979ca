"""The NVIDIA driver of hosts that have GPUs. On other hosts this step does nothing and reports nothing.

`gpu.driver.mode` sets how the driver is installed: `container` (by the GPU Operator, in containers), `host` (packages
from NVIDIA's CUDA repository) or `none` (it is already installed by other means). `auto` means none on a host with a
driver that gpustack did not install, or with one newer than the version set's and no gpu.driver.version; else host on
Debian, and without the operator or Kubernetes; on Ubuntu host where gpustack installed packages before, else container.
The record of the host says who installed a driver. A driver of the owner's is left alone, whatever its version, as long
as the operator works with it.

What it does, in mode host: adds NVIDIA's apt repository, whose key is trusted only by fingerprint; pins apt to the
version of the spec before anything else (with the pinning package of that version, or else of its branch); installs the
kernel headers, the libraries and the source of the module, which DKMS builds, and the Fabric Manager if NVSwitches
connect the GPUs; blacklists nouveau; loads the module and starts nvidia-persistenced and nvidia-fabricmanager. Then it
protects the driver: its packages are on hold, unattended upgrades exclude them, and the kernel for the next boot has
headers and a module. In mode container it only blacklists nouveau.

What it never does: it does not change the version of an installed driver, remove a driver from another source, enable
or disable Secure Boot, or reboot a host. To change the version, on one host after the other: drain it; `apt-get install
--allow-change-held-packages nvidia-driver-pinning-VERSION`; in the same way nvidia-driver-cuda=VERSION-* and
nvidia-kernel-open-dkms=VERSION-* (or what the check names); reboot; uncordon.

Not yet tested on hardware: the build by DKMS, the module in a real kernel, Secure Boot with an enrolled key, and
everything on Ubuntu. The rest was tested with simulated drivers in a lab.

Settings: `gpu.driver`, `gpu.stack`, `source`, `fingerprints.nvidia`.

Sources: NVIDIA Driver Installation Guide (Debian, Ubuntu, version locking); NVIDIA/gpu-driver-container Makefile.
"""

from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.packages import GPU_GUARD, GPU_KERNELS, GPU_PACKAGES, GPU_REPOSITORY, UNATTENDED_UPGRADES
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import OS
from gpustack.probes.network.rdma_adapters import RDMA_ADAPTERS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.steps.gpu import driver_packages as gpu_driver_packages
from gpustack.steps.gpu import driver_running as gpu_driver_running
from gpustack.steps.gpu.driver_offers import add_offers
from gpustack.steps.gpu.fabric import fabric, fabric_manager
from gpustack.steps.gpu.generation import generation, vgpu_guest
from gpustack.steps.gpu.owner_driver import minimum
from gpustack.steps.step import Step, accepts_any_host

# The last one may find a driver that is stuck.
STEP = Step(
    "gpu-driver",
    scope="host",
    needs=("prereqs",),
    probes=(
        OS, GPU_DEVICES, GPU_PACKAGES, GPU_REPOSITORY, SOURCES, GPU_KERNELS, GPU_GUARD, GPU_DRIVER,
        PLUGIN_FILES, UNATTENDED_UPGRADES, RDMA_ADAPTERS, GPU_SMI),
    checks=add_offers((
        vgpu_guest, generation, fabric, *gpu_driver_running.EARLY_CHECKS, gpu_driver_packages.other_drivers,
        *gpu_driver_packages.CHECKS, minimum, *gpu_driver_running.CHECKS, fabric_manager,
    )),
    settle_seconds=30,
    includes_host=accepts_any_host,
    interrupts="where another driver is loaded, pods with GPUs have to end first",
)  # fmt: skip

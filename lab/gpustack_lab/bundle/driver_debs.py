"""The simulated NVIDIA driver and the container toolkit as Debian packages, at the official places of NVIDIA's.

The driver is compiled from gpustack_lab/simulated/driver, for lab hosts with simulated GPUs. Its packages have the
names that NVIDIA's CUDA repository has for Debian, as many as computing needs: `apt-get install nvidia-open`, or
nvidia-driver-cuda with nvidia-kernel-open-dkms. The toolkit is the real one, compiled from its Go module.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.debs import Recipe
from gpustack_lab.bundle.versions import Versions
from gpustack_lab.simulated.sources import DRIVER

NOTE = "SIMULATED by gpustack, for labs and tests: nothing of NVIDIA's, no silicon behind it."
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
CUDA_ARCHITECTURES = {"amd64": "x86_64", "arm64": "sbsa"}
CUDA_RELEASES = ("debian12", "debian13")
LIBRARIES = {"libnvidia-ml1": "libnvidia-ml.so", "libcuda1": "libcuda.so"}
TOOLKIT = ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime")


@dataclass(frozen=True)
class Repository:
    """Describe a flat repository at files/<host>/<path>, with the official place of its key."""

    path: str
    key: str
    recipes: tuple[Recipe, ...]
    component: str


def declare_part(version: str) -> Part:
    """Declare the part with libnvidia-ml.so, libcuda.so, nvidia-smi, and nvidia.ko, which only modinfo can read."""
    compiler = run(["gcc", "-dumpfullversion"], limit=20).strip()
    inputs = digest(DRIVER, version, compiler, platform.machine())
    return Part("simulated-driver", inputs, lambda output_dir: _compile(version, output_dir))


def _compile(version: str, output_dir: Path) -> None:
    run(["sh", DRIVER / "build.sh", output_dir, version], limit=120)


def build_driver_recipes(version: str, built_part: BuiltPart, architecture: str) -> tuple[Recipe, ...]:
    """Build the recipes of the driver. `version` is that of the driver, like 595.91.07; packages append a revision to
    it, and the pinning package has the branch alone."""
    branch = version.partition(".")[0]
    libraries = f"usr/lib/{TRIPLETS[architecture]}"
    recipes = [
        Recipe(
            package,
            f"{version}-1",
            (built_part,),
            {f"{libraries}/{name}.{version}": built_part[name]},
            links={f"{libraries}/{name}.1": f"{name}.{version}"},
            note=NOTE,
        )
        for package, name in LIBRARIES.items()
    ]
    programs = {
        "nvidia-driver-cuda": {"usr/bin/nvidia-smi": built_part["nvidia-smi"]},
        "nvidia-kernel-open-dkms": {"usr/lib/nvidia/simulated/nvidia.ko": built_part["nvidia.ko"]},
        "nvidia-persistenced": {},
        "nvidia-open": {},
    }
    recipes += [Recipe(name, f"{version}-1", (built_part,), files, note=NOTE) for name, files in programs.items()]
    return (*recipes, Recipe(f"nvidia-driver-pinning-{branch}", f"{branch}-1", (), {}, note=NOTE))


def build_toolkit_recipes(version: str, built_part: BuiltPart) -> tuple[Recipe, ...]:
    hook = "nvidia-container-runtime-hook"
    base = {f"usr/bin/{name}": built_part[name] for name in TOOLKIT}
    return (
        Recipe("nvidia-container-toolkit-base", f"{version}-1", (built_part,), base),
        Recipe("nvidia-container-toolkit", f"{version}-1", (built_part,), {f"usr/bin/{hook}": built_part[hook]}),
    )


def build_dcgm_recipes(versions: Versions, built_part: BuiltPart) -> tuple[Recipe, ...]:
    """Build the recipes of engine and exporter for hosts without Kubernetes, compiled from simulated/cluster. They read
    the same state of simulated GPUs as the driver."""
    engine, _, exporter = versions["dcgm-exporter"].partition("-")
    core, name = f"1:{engine}-1", "datacenter-gpu-manager"
    counters = built_part["etc/default-counters.csv"]
    exports = {"usr/bin/dcgm-exporter": built_part["dcgm-exporter"], "etc/dcgm-exporter/default-counters.csv": counters}
    return (
        Recipe(
            f"{name}-4-core", core, (built_part,), {"usr/bin/nv-hostengine": built_part["dcgm"]},
            links={"usr/bin/dcgmi": "nv-hostengine"}, note=NOTE,
        ),
        Recipe(f"{name}-4-proprietary", core, (), {}, note=NOTE),
        Recipe(f"{name}-exporter", f"{exporter}-1", (built_part,), exports, note=NOTE),
    )  # fmt: skip


def select_component(package: str, default: str) -> str:
    """Select the component of the version set that a package belongs to."""
    if not package.startswith("datacenter-gpu-manager-"):
        return default
    return "dcgm-exporter" if package.endswith("-exporter") else "dcgm"


def build_repositories(versions: Versions, built_parts: dict[str, BuiltPart], architecture: str) -> list[Repository]:
    simulated = build_driver_recipes(versions["nvidia-driver"], built_parts["simulated-driver"], architecture)
    simulated += build_dcgm_recipes(versions, built_parts["simulated-cluster"])
    real = build_toolkit_recipes(versions["nvidia-container-toolkit"], built_parts["nvidia-container-toolkit"])
    cuda = "files/developer.download.nvidia.com/compute/cuda/repos"
    places = {release: f"{cuda}/{release}/{CUDA_ARCHITECTURES[architecture]}" for release in CUDA_RELEASES}
    keys = versions.raw["apt"]["nvidia"]["keys"]
    toolkits = "files/nvidia.github.io/libnvidia-container"
    return [
        *(
            Repository(place, f"{place}/{keys[release]['key']}", simulated, "nvidia-driver")
            for release, place in places.items()
        ),
        Repository(f"{toolkits}/stable/deb/{architecture}", f"{toolkits}/gpgkey", real, "nvidia-container-toolkit"),
    ]

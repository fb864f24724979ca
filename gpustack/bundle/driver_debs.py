"""The simulated NVIDIA driver and the container toolkit as Debian packages, at the official places of NVIDIA's.

The driver is compiled from gpustack/simulated/driver, for lab hosts with simulated GPUs. Its packages have the
names that NVIDIA's CUDA repository has for Debian, as many as computing needs: `apt-get install nvidia-open`, or
nvidia-driver-cuda with nvidia-kernel-open-dkms. The toolkit is the real one, compiled from its Go module.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.debs import Recipe
from gpustack.bundle.programs import run
from gpustack.bundle.versions import Versions
from gpustack.simulated.sources import DRIVER

NOTE = "SIMULATED by gpustack, for labs and tests: nothing of NVIDIA's, no silicon behind it."
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
CUDA_ARCHITECTURES = {"amd64": "x86_64", "arm64": "sbsa"}
CUDA_RELEASES = ("debian12", "debian13")
LIBRARIES = {"libnvidia-ml1": "libnvidia-ml.so", "libcuda1": "libcuda.so"}
TOOLKIT = ("nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-runtime")


@dataclass(frozen=True)
class Repository:
    """A flat repository at files/<host>/<path>, and where its key lies officially."""

    below: str
    key: str
    recipes: tuple[Recipe, ...]
    component: str


def part(version: str) -> Part:
    """out/: libnvidia-ml.so, libcuda.so, nvidia-smi, and nvidia.ko, which only modinfo can read."""
    compiler = run(["gcc", "-dumpfullversion"], limit=20).strip()
    inputs = digest(DRIVER, version, compiler, platform.machine())
    return Part("simulated-driver", inputs, lambda out: _compile(version, out))


def _compile(version: str, out: Path) -> None:
    run(["sh", DRIVER / "build.sh", out, version], limit=120)


def driver(version: str, made: Made, architecture: str) -> tuple[Recipe, ...]:
    """VERSION is the driver's, like 595.91.07; packages have a revision behind it, the pinning one only its branch."""
    branch = version.partition(".")[0]
    libraries = f"usr/lib/{TRIPLETS[architecture]}"
    found = [
        Recipe(
            package,
            f"{version}-1",
            (made,),
            {f"{libraries}/{name}.{version}": made[name]},
            links={f"{libraries}/{name}.1": f"{name}.{version}"},
            note=NOTE,
        )
        for package, name in LIBRARIES.items()
    ]
    programs = {
        "nvidia-driver-cuda": {"usr/bin/nvidia-smi": made["nvidia-smi"]},
        "nvidia-kernel-open-dkms": {"usr/lib/nvidia/simulated/nvidia.ko": made["nvidia.ko"]},
        "nvidia-persistenced": {},
        "nvidia-open": {},
    }
    found += [Recipe(name, f"{version}-1", (made,), files, note=NOTE) for name, files in programs.items()]
    return (*found, Recipe(f"nvidia-driver-pinning-{branch}", f"{branch}-1", (), {}, note=NOTE))


def toolkit(version: str, made: Made) -> tuple[Recipe, ...]:
    hook = "nvidia-container-runtime-hook"
    base = {f"usr/bin/{name}": made[name] for name in TOOLKIT}
    return (
        Recipe("nvidia-container-toolkit-base", f"{version}-1", (made,), base),
        Recipe("nvidia-container-toolkit", f"{version}-1", (made,), {f"usr/bin/{hook}": made[hook]}),
    )


def dcgm(versions: Versions, made: Made) -> tuple[Recipe, ...]:
    """Engine and exporter for hosts without Kubernetes, compiled from gpustack/simulated/cluster: they read the same
    state of simulated GPUs as the driver."""
    engine, _, exporter = versions["dcgm-exporter"].partition("-")
    core, name = f"1:{engine}-1", "datacenter-gpu-manager"
    counters = made["etc/default-counters.csv"]
    exports = {"usr/bin/dcgm-exporter": made["dcgm-exporter"], "etc/dcgm-exporter/default-counters.csv": counters}
    return (
        Recipe(
            f"{name}-4-core", core, (made,), {"usr/bin/nv-hostengine": made["dcgm"]},
            links={"usr/bin/dcgmi": "nv-hostengine"}, note=NOTE,
        ),
        Recipe(f"{name}-4-proprietary", core, (), {}, note=NOTE),
        Recipe(f"{name}-exporter", f"{exporter}-1", (made,), exports, note=NOTE),
    )  # fmt: skip


def component(package: str, otherwise: str) -> str:
    """Of the version set."""
    if not package.startswith("datacenter-gpu-manager-"):
        return otherwise
    return "dcgm-exporter" if package.endswith("-exporter") else "dcgm"


def repositories(versions: Versions, made: dict[str, Made], architecture: str) -> list[Repository]:
    simulated = driver(versions["nvidia-driver"], made["simulated-driver"], architecture)
    simulated += dcgm(versions, made["simulated-cluster"])
    real = toolkit(versions["nvidia-container-toolkit"], made["nvidia-container-toolkit"])
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

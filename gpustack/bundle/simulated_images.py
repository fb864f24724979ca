"""Images of what stands in for vendors' parts that no Go module has, compiled from gpustack/simulated.

They have the references of what they stand in for, for nothing in the product may tell the difference, and say in their
labels that they are simulated.
"""

import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle import modules
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.gpu_images import environment
from gpustack.bundle.images import PATH, Recipe
from gpustack.bundle.oci import Link
from gpustack.bundle.programs import run
from gpustack.bundle.rootfs import Content, libc, shell
from gpustack.bundle.versions import Versions
from gpustack.simulated.sources import CLUSTER

COMMANDS = ("dcgm", "dcgm-exporter", "gpu-operator", "grafana", "vectoradd")
DCGM_NAMES = ("/usr/bin/dcgmi", "/usr/bin/dcgmproftester12", "/usr/bin/dcgmproftester13")
COUNTERS = "cmd/dcgm-exporter/etc"
DIFFERS = "SIMULATED: gpustack's stand-in for a lab's GPUs; libc and busybox are the building machine's Debian packages"


def part() -> Part:
    """out/<command> for each of COMMANDS, static, and out/etc/*.csv: lists of counters of the exporter."""
    inputs = digest(CLUSTER, COMMANDS, modules.go_version(), platform.machine(), modules.FLAGS)
    return Part("simulated-cluster", inputs, _compile)


def _compile(out: Path) -> None:
    packages = [f"./cmd/{command}" for command in COMMANDS]
    env = modules.environment(cgo=False)
    argv = ["go", "build", "-ldflags", "-s -w", "-o", f"{out}/", *packages]
    run(argv, cwd=CLUSTER, env=env, limit=modules.COMPILE_LIMIT)
    for path in sorted((CLUSTER / COUNTERS).glob("*.csv")):
        (out / "etc").mkdir(exist_ok=True)
        shutil.copyfile(path, out / "etc" / path.name)


def simulated(versions: Versions, made: Mapping[str, Made]) -> list[Recipe]:
    v, programs = versions, made["simulated-cluster"]
    counters: Content = {
        f"/etc/dcgm-exporter/{Path(path).name}": programs[path].read_bytes()
        for path in programs.files
        if path.startswith("etc/")
    }
    return [
        _recipe(
            f"nvcr.io/nvidia/k8s/dcgm-exporter:{v['dcgm-exporter']}-distroless",
            "dcgm-exporter",
            {**counters, "/usr/bin/dcgm-exporter": programs["dcgm-exporter"]},
            made,
            environment("all", "compute,utility,compat32"),
        ),
        _recipe(
            f"nvcr.io/nvidia/cloud-native/dcgm:{v['dcgm']}-ubuntu24.04",
            "dcgm",
            # One program: by its name it is the client, or a load. DCGM 4.6.0's Dockerfile has CUDA 12 and 13.
            {
                **dict.fromkeys(DCGM_NAMES, Link("nv-hostengine")),
                "/usr/bin/nv-hostengine": programs["dcgm"],
            },
            made,
            environment("all", "compute,utility"),
            # NVIDIA/DCGM 4.6.0 docker/Dockerfile.ubuntu22.04; the operator's `args` take its place.
            command=("-n", "-b", "0.0.0.0", "--log-level", "NONE", "-f", "-"),  # noqa: S104 - as in NVIDIA's
        ),
        _recipe(
            f"nvcr.io/nvidia/gpu-operator:v{v['gpu-operator']}",
            "gpu-operator",
            {"/usr/bin/gpu-operator": programs["gpu-operator"]},
            made,
            environment("void", "utility"),
        ),
        _recipe(
            f"nvcr.io/nvidia/cloud-native/k8s-mig-manager:v{v['k8s-mig-manager']}",
            "k8s-mig-manager",
            # One program: by its name it does the labels of the MIG manager, and no more.
            {"/usr/bin/nvidia-mig-manager": programs["gpu-operator"]},
            made,
            environment("void", "utility"),
        ),
        _recipe(
            f"nvcr.io/nvidia/k8s/cuda-sample:vectoradd-{v['cuda-sample']}",
            "cuda-sample",
            {"/cuda-samples/vectorAdd": programs["vectoradd"]},
            made,
            environment("all", "compute,utility"),
        ),
        _recipe(
            f"docker.io/grafana/grafana:{v['grafana']}",
            "grafana",
            {"/usr/bin/grafana": programs["grafana"]},
            made,
            PATH,
            "472:0",
        ),
    ]


def _recipe(
    reference: str,
    component: str,
    files: Content,
    made: Mapping[str, Made],
    env: list[str],
    user: str = "",
    command: tuple[str, ...] = (),
) -> Recipe:
    """The program is the last of the files."""
    tools = made["userland"]
    config = {"Entrypoint": [list(files)[-1]], "Env": env} | ({"User": user} if user else {})
    config |= {"Cmd": list(command)} if command else {}
    return Recipe(
        reference,
        component,
        (made["simulated-cluster"], tools),
        lambda: [libc(tools), shell(tools), files],
        config,
        DIFFERS,
    )

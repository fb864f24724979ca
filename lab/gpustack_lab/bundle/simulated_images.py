"""Images that stand in for vendors' parts without a Go module, compiled from gpustack_lab/simulated.

They have the references of the parts they stand in for, since no step or check may tell the difference, and say in
their labels that they are simulated.
"""

import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack_lab.bundle import modules
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.gpu_images import build_image_environment
from gpustack_lab.bundle.images import PATH, Recipe
from gpustack_lab.bundle.oci import Link
from gpustack_lab.bundle.rootfs import Content, collect_libc, collect_shell
from gpustack_lab.bundle.versions import Versions
from gpustack_lab.simulated.sources import CLUSTER

COMMANDS = ("dcgm", "dcgm-exporter", "gpu-operator", "grafana", "vectoradd")
DCGM_NAMES = ("/usr/bin/dcgmi", "/usr/bin/dcgmproftester12", "/usr/bin/dcgmproftester13")
COUNTERS = "cmd/dcgm-exporter/etc"
DIFFERS = "SIMULATED: gpustack's stand-in for a lab's GPUs; libc and busybox are the building machine's Debian packages"


def declare_part() -> Part:
    """Declare the part with <command> for each of COMMANDS, static, and etc/*.csv, the exporter's lists of counters."""
    inputs = digest(CLUSTER, COMMANDS, modules.read_go_version(), platform.machine(), modules.FLAGS)
    return Part("simulated-cluster", inputs, _compile, seconds=20)


def _compile(output_dir: Path) -> None:
    packages = [f"./cmd/{command}" for command in COMMANDS]
    env = modules.build_go_environment(cgo=False)
    argv = ["go", "build", "-ldflags", "-s -w", "-o", f"{output_dir}/", *packages]
    run(argv, cwd=CLUSTER, env=env, limit=modules.COMPILE_LIMIT)
    for path in sorted((CLUSTER / COUNTERS).glob("*.csv")):
        (output_dir / "etc").mkdir(exist_ok=True)
        shutil.copyfile(path, output_dir / "etc" / path.name)


def build_simulated_recipes(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    v, programs = versions, built_parts["simulated-cluster"]
    counters: Content = {
        f"/etc/dcgm-exporter/{Path(path).name}": programs[path].read_bytes()
        for path in programs.files
        if path.startswith("etc/")
    }
    return [
        _build_recipe(
            f"nvcr.io/nvidia/k8s/dcgm-exporter:{v['dcgm-exporter']}-distroless",
            "dcgm-exporter",
            {**counters, "/usr/bin/dcgm-exporter": programs["dcgm-exporter"]},
            built_parts,
            build_image_environment("all", "compute,utility,compat32"),
        ),
        _build_recipe(
            f"nvcr.io/nvidia/cloud-native/dcgm:{v['dcgm']}-ubuntu24.04",
            "dcgm",
            # One program: by its name it is the client, or a load. DCGM 4.6.0's Dockerfile has CUDA 12 and 13.
            {
                **dict.fromkeys(DCGM_NAMES, Link("nv-hostengine")),
                "/usr/bin/nv-hostengine": programs["dcgm"],
            },
            built_parts,
            build_image_environment("all", "compute,utility"),
            # NVIDIA/DCGM 4.6.0 docker/Dockerfile.ubuntu22.04; the operator's `args` take its place.
            command=("-n", "-b", "0.0.0.0", "--log-level", "NONE", "-f", "-"),  # noqa: S104 - as in NVIDIA's
        ),
        _build_recipe(
            f"nvcr.io/nvidia/gpu-operator:v{v['gpu-operator']}",
            "gpu-operator",
            {"/usr/bin/gpu-operator": programs["gpu-operator"]},
            built_parts,
            build_image_environment("void", "utility"),
        ),
        _build_recipe(
            f"nvcr.io/nvidia/cloud-native/k8s-mig-manager:v{v['k8s-mig-manager']}",
            "k8s-mig-manager",
            # One program: by its name it does the labels of the MIG manager, and no more.
            {"/usr/bin/nvidia-mig-manager": programs["gpu-operator"]},
            built_parts,
            build_image_environment("void", "utility"),
        ),
        _build_recipe(
            f"nvcr.io/nvidia/k8s/cuda-sample:vectoradd-{v['cuda-sample']}",
            "cuda-sample",
            {"/cuda-samples/vectorAdd": programs["vectoradd"]},
            built_parts,
            build_image_environment("all", "compute,utility"),
        ),
        _build_recipe(
            f"docker.io/grafana/grafana:{v['grafana']}",
            "grafana",
            {"/usr/bin/grafana": programs["grafana"]},
            built_parts,
            PATH,
            "472:0",
        ),
    ]


def _build_recipe(
    reference: str,
    component: str,
    files: Content,
    built_parts: Mapping[str, BuiltPart],
    env: list[str],
    user: str = "",
    command: tuple[str, ...] = (),
) -> Recipe:
    """Build a recipe whose program is the last of the files."""
    tools = built_parts["userland"]
    config = {"Entrypoint": [list(files)[-1]], "Env": env} | ({"User": user} if user else {})
    config |= {"Cmd": list(command)} if command else {}
    return Recipe(
        reference,
        component,
        (built_parts["simulated-cluster"], tools),
        lambda: [collect_libc(tools), collect_shell(tools), files],
        config,
        DIFFERS,
    )

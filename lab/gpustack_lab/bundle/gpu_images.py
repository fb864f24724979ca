"""Images of the programs between a GPU's driver and Kubernetes, under the references of their vendors.

The device plugin and the container toolkit look for NVML in the libc they run under, so they are not static.
"""

from collections.abc import Mapping

from gpustack_lab.bundle.cache import BuiltPart
from gpustack_lab.bundle.images import PATH, Recipe
from gpustack_lab.bundle.monitoring_images import NOBODY, STATIC
from gpustack_lab.bundle.oci import Link
from gpustack_lab.bundle.rootfs import ACCOUNTS, Content, collect_libc, collect_shell
from gpustack_lab.bundle.versions import Versions

BASE = "libc and busybox are the building machine's Debian packages"
# Where nvidia-ctk-installer looks on a Debian or Ubuntu host. On a host with rpm, and here, where no host is mounted
# (busybox is called rpm, too), it looks into /artifacts/rpm.
PACKAGE = "/artifacts/deb/usr"
# What the installer copies besides, and what no Go module has: nothing calls it where devices come by CDI.
CLI = b"""#!/bin/sh
echo "nvidia-container-cli is not part of this bundle: containers get their GPUs by CDI" >&2
exit 1
"""
LIBRARY = b"This library of libnvidia-container is not part of the bundle: containers get their GPUs by CDI.\n"


def build_gpu_recipes(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    return [
        _build_discovery_recipe(versions, built_parts),
        _build_plugin_recipe(versions, built_parts),
        _build_toolkit_recipe(versions, built_parts),
    ]


def _build_discovery_recipe(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> Recipe:
    programs = built_parts["node-feature-discovery"]
    files = {f"/usr/bin/{name}": programs[name] for name in ("nfd-master", "nfd-worker", "nfd-gc")}
    return Recipe(
        f"registry.k8s.io/nfd/node-feature-discovery:v{versions[programs.name]}",
        programs.name,
        (programs,),
        lambda: [ACCOUNTS, files],
        {"User": NOBODY, "Env": [*PATH, "GRPC_GO_LOG_SEVERITY_LEVEL=INFO"]},
        f"{STATIC}; no topology updater, no kubectl plugin",
    )


def _build_plugin_recipe(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> Recipe:
    programs, tools = built_parts["k8s-device-plugin"], built_parts["userland"]
    files = {f"/usr/bin/{name}": programs[name] for name in programs.files}
    return Recipe(
        f"nvcr.io/nvidia/k8s-device-plugin:v{versions[programs.name]}",
        programs.name,
        (programs, tools),
        lambda: [collect_libc(tools), collect_shell(tools), files],
        {"Entrypoint": ["nvidia-device-plugin"], "Env": build_image_environment("all", "compute,utility")},
        f"no mps-control-daemon; {BASE}",
    )


def _build_toolkit_recipe(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> Recipe:
    programs, tools = built_parts["nvidia-container-toolkit"], built_parts["userland"]
    installed: Content = {
        f"{PACKAGE}/bin/{name}": programs[name] for name in programs.files if name != "nvidia-ctk-installer"
    }
    stubs: Content = {f"{PACKAGE}/bin/nvidia-container-cli": CLI} | {
        f"{PACKAGE}/lib64/{name}": LIBRARY for name in ("libnvidia-container.so.1", "libnvidia-container-go.so.1")
    }
    work: Content = {
        "/work/nvidia-ctk-installer": programs["nvidia-ctk-installer"],
        "/work/nvidia-toolkit": Link("/work/nvidia-ctk-installer"),
        "/artifacts/rpm": Link("deb"),
    }
    path = PATH[0].replace("PATH=", "PATH=/work:")
    return Recipe(
        f"nvcr.io/nvidia/k8s/container-toolkit:v{versions[programs.name]}",
        programs.name,
        (programs, tools),
        lambda: [collect_libc(tools), collect_shell(tools), {**installed, **stubs, **work}],
        {
            "Entrypoint": ["/work/nvidia-ctk-installer"],
            "Env": [path, *build_image_environment("void", "utility")[1:]],
            "WorkingDir": "/work",
        },
        f"no libnvidia-container (a stub in its place, CDI does without it), no packages in it; {BASE}",
    )


def build_image_environment(devices: str, capabilities: str) -> list[str]:
    """Build the variables that tell the container toolkit which GPUs a container of this image has."""
    return [
        *PATH,
        f"NVIDIA_VISIBLE_DEVICES={devices}",
        f"NVIDIA_DRIVER_CAPABILITIES={capabilities}",
        "NVIDIA_DISABLE_REQUIRE=true",
    ]

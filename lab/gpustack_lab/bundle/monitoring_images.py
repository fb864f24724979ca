"""Images of monitoring, of KEDA and of the local-path provisioner, under the references of their vendors.

KEDA reads the monitoring, and the provisioner gives it disk space. Each image is one or two static programs. Users,
paths and entry points are those of the vendors' images.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from gpustack_lab.bundle.cache import BuiltPart
from gpustack_lab.bundle.images import Recipe
from gpustack_lab.bundle.rootfs import ACCOUNTS, collect_libc, collect_shell
from gpustack_lab.bundle.versions import Versions

NOBODY = "65534:65534"
STATIC = "static programs on an empty base: no shell, no certificates of public authorities, no example configuration"


def build_monitoring_recipes(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    v = versions
    operator = f"quay.io/prometheus-operator/{{}}:v{v['prometheus-operator']}"
    return [
        _build_static_recipe(
            f"quay.io/prometheus/prometheus:v{v['prometheus']}",
            built_parts["prometheus"],
            ("/bin/prometheus", "/bin/promtool"),
            f"{STATIC}; of service discovery only Kubernetes, files and HTTP; no web pages, the API is whole",
            directory="/prometheus",
        ),
        _build_static_recipe(
            f"quay.io/prometheus/alertmanager:v{v['alertmanager']}",
            built_parts["alertmanager"],
            ("/bin/alertmanager", "/bin/amtool"),
            directory="/alertmanager",
        ),
        _build_static_recipe(
            operator.format("prometheus-operator"), built_parts["prometheus-operator"], ("/bin/operator",)
        ),
        _build_static_recipe(
            operator.format("prometheus-config-reloader"),
            built_parts["prometheus-operator"],
            ("/bin/prometheus-config-reloader",),
        ),
        _build_static_recipe(
            f"quay.io/prometheus/node-exporter:v{v['node-exporter']}",
            built_parts["node-exporter"],
            ("/bin/node_exporter",),
        ),
        _build_static_recipe(
            f"registry.k8s.io/kube-state-metrics/kube-state-metrics:v{v['kube-state-metrics']}",
            built_parts["kube-state-metrics"],
            ("/kube-state-metrics",),
        ),
    ]


def build_keda_recipes(versions: Versions, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    """Build the recipes of KEDA. Names, paths and user are those of its Dockerfiles."""
    programs = {"keda": "/keda", "keda-metrics-apiserver": "/keda-adapter"}
    programs["keda-admission-webhooks"] = "/keda-admission-webhooks"
    return [
        _build_static_recipe(
            f"ghcr.io/kedacore/{name}:{versions['keda']}", built_parts["keda"], (program,), user="65532:65532"
        )
        for name, program in programs.items()
    ]


def _build_static_recipe(
    reference: str,
    built_part: BuiltPart,
    programs: tuple[str, ...],
    differs: str = STATIC,
    *,
    directory: str = "/",
    user: str = NOBODY,
) -> Recipe:
    """Build the recipe of an image of static programs. `built_part` is named after its component; the first program is
    the entry point."""
    files = {path: built_part[Path(path).name] for path in programs}
    config = {"Entrypoint": [programs[0]], "User": user, "WorkingDir": directory}
    return Recipe(reference, built_part.name, (built_part,), lambda: [ACCOUNTS, files], config, differs)


def build_provisioner_recipes(manifest: Path, built_parts: Mapping[str, BuiltPart]) -> list[Recipe]:
    """Build the recipe of local-path-provisioner, in whose shell its helper pods run (playbooks/roles/storage)."""
    tools, program = built_parts["userland"], built_parts["local-path-provisioner"]
    return [
        Recipe(
            f"docker.io/{name}",
            "local-path-provisioner",
            (program, tools),
            lambda: [
                collect_libc(tools),
                collect_shell(tools),
                {"/usr/bin/local-path-provisioner": program[program.name]},
            ],
            {"Cmd": ["local-path-provisioner"]},
            "libc and busybox are the building machine's Debian packages",
        )
        for name in sorted(set(re.findall(r"image:\s*(rancher/\S+)", manifest.read_text())))
    ]

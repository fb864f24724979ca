"""Images of monitoring, under the references of their vendors, of KEDA, which reads it, and of the provisioner that
gives it disk space.

Each is one or two static programs. Users, paths and entry points are those of the vendors' images.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle.cache import Made
from gpustack.bundle.images import Recipe
from gpustack.bundle.rootfs import ACCOUNTS, libc, shell
from gpustack.bundle.versions import Versions

NOBODY = "65534:65534"
STATIC = "static programs on an empty base: no shell, no certificates of public authorities, no example configuration"


def monitoring(versions: Versions, made: Mapping[str, Made]) -> list[Recipe]:
    v = versions
    operator = f"quay.io/prometheus-operator/{{}}:v{v['prometheus-operator']}"
    return [
        _static(
            f"quay.io/prometheus/prometheus:v{v['prometheus']}",
            made["prometheus"],
            ("/bin/prometheus", "/bin/promtool"),
            f"{STATIC}; of service discovery only Kubernetes, files and HTTP; no web pages, the API is whole",
            directory="/prometheus",
        ),
        _static(
            f"quay.io/prometheus/alertmanager:v{v['alertmanager']}",
            made["alertmanager"],
            ("/bin/alertmanager", "/bin/amtool"),
            directory="/alertmanager",
        ),
        _static(operator.format("prometheus-operator"), made["prometheus-operator"], ("/bin/operator",)),
        _static(
            operator.format("prometheus-config-reloader"),
            made["prometheus-operator"],
            ("/bin/prometheus-config-reloader",),
        ),
        _static(
            f"quay.io/prometheus/node-exporter:v{v['node-exporter']}", made["node-exporter"], ("/bin/node_exporter",)
        ),
        _static(
            f"registry.k8s.io/kube-state-metrics/kube-state-metrics:v{v['kube-state-metrics']}",
            made["kube-state-metrics"],
            ("/kube-state-metrics",),
        ),
    ]


def keda(versions: Versions, made: Mapping[str, Made]) -> list[Recipe]:
    """Names, paths and user as of its Dockerfiles."""
    found = {"keda": "/keda", "keda-metrics-apiserver": "/keda-adapter"}
    found["keda-admission-webhooks"] = "/keda-admission-webhooks"
    return [
        _static(f"ghcr.io/kedacore/{name}:{versions['keda']}", made["keda"], (program,), user="65532:65532")
        for name, program in found.items()
    ]


def _static(
    reference: str,
    made: Made,
    programs: tuple[str, ...],
    differs: str = STATIC,
    *,
    directory: str = "/",
    user: str = NOBODY,
) -> Recipe:
    """`made` is named after its component; the first program is the entry point."""
    files = {path: made[Path(path).name] for path in programs}
    config = {"Entrypoint": [programs[0]], "User": user, "WorkingDir": directory}
    return Recipe(reference, made.name, (made,), lambda: [ACCOUNTS, files], config, differs)


def provisioner(manifest: Path, made: Mapping[str, Made]) -> list[Recipe]:
    """Return the image of local-path-provisioner, in whose shell its helper pods run (playbooks/roles/storage)."""
    tools, program = made["userland"], made["local-path-provisioner"]
    return [
        Recipe(
            f"docker.io/{name}",
            "local-path-provisioner",
            (program, tools),
            lambda: [libc(tools), shell(tools), {"/usr/bin/local-path-provisioner": program[program.name]}],
            {"Cmd": ["local-path-provisioner"]},
            "libc and busybox are the building machine's Debian packages",
        )
        for name in sorted(set(re.findall(r"image:\s*(rancher/\S+)", manifest.read_text())))
    ]

"""Container runtime: containerd.io of a release line that supports this Kubernetes, with CRI and systemd cgroups, and
crictl.

What it does: adds the apt repositories of containerd and of Kubernetes, whose keys are trusted only by fingerprint;
installs and holds cri-tools and containerd.io: exactly `containerd.version`, or the newest patch of the version set's
line that the repository offers, the same on all hosts (if the index lists a patch whose file is missing, the previous
one); writes /etc/containerd/conf.d/gpustack.toml, adds it to the imports of config.toml, removes CRI from its
disabled_plugins, and gives it version 3 where nothing in it depends on an older one; with a mirror in the spec,
configures containerd to use it for docker.io, ghcr.io, nvcr.io, quay.io and registry.k8s.io, without a public fallback.
Images that the mirror signs, or that the version set pins, are pulled only with that digest:
/etc/gpustack-cluster/images lists them, and containerd asks /opt/containerd/image-verifier/bin/gpustack before each
pull; an existing image with another digest is pulled again. It restarts containerd when its files changed and
containerd accepts them, and a kubelet that took another cgroup driver from it. Containers keep running.

Docker CE (docker-ce) may be installed and is kept: it shares containerd.io, its containers are in a namespace of their
own and keep running when containerd restarts (since 20.10.1; docker/docker-ce-packaging pull 512). containerd.io is
then on hold, so an upgrade of Docker that needs a newer one waits for you.

What it never does: it does not change other keys of config.toml, other files in conf.d or your hosts.toml files, and
never changes the version of an installed containerd.

Settings: `containerd.version`, `containerd.verify_images`, `containerd.restrict_oom_score_adj`, `source`.

Sources: containerd docs/cri/config.md, docs/hosts.md and docs/image-verification.md; kubernetes.io container-runtimes.
"""

from dataclasses import replace

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.probes.containerd.candidates import CONTAINERD_OFFERS
from gpustack.probes.containerd.daemon import CONFIGURATION, MIRRORS, RUNTIME
from gpustack.probes.containerd.images import IMAGES
from gpustack.probes.containerd.mirror import MIRROR_STATE
from gpustack.probes.containerd.runc import RUNC
from gpustack.probes.host.egress import DAEMONS, EGRESS
from gpustack.probes.host.system import OS
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import CGROUPS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import DOCKER, FOREIGN_RUNTIMES, PACKAGES, REPOSITORIES
from gpustack.steps.apt_repository import find_repository_mismatch
from gpustack.steps.containerd import files as containerd_files
from gpustack.steps.containerd import images as containerd_images
from gpustack.steps.containerd import running as containerd_running
from gpustack.steps.containerd.version import version
from gpustack.steps.step import Step


def other_runtimes(view: View) -> Result | None:
    """The host has no container runtime from another source: both would own the same files and socket. Docker CE is not
    one: it depends on containerd.io and shares it."""
    runtimes = [name for name in FOREIGN_RUNTIMES if view[PACKAGES][name]]
    hint = Command("apt-get", "remove", *runtimes, note="after its containers have moved away")
    if not runtimes:
        return None
    mismatch = Result(
        "other container runtimes",
        "none",
        format_value(runtimes),
        "operator",
        fault="host-docker-preinstalled",
        hint=hint,
    )
    return mismatch if set(runtimes) & set(DOCKER) else replace(mismatch, fault="")


def repository(view: View) -> Result | None:
    """The apt repository is configured with the expected key and no other."""
    return find_repository_mismatch(view, "containerd")


def crictl(view: View) -> Result | None:
    """The package cri-tools is installed."""
    return None if view[PACKAGES]["cri-tools"] else Result("package cri-tools", "installed", "missing")


def packages_held(view: View) -> Result | None:
    """The packages are on hold, so that an upgrade of the host does not change them."""
    unheld_packages = [
        name for name in ("containerd.io", "cri-tools") if (package := view[PACKAGES][name]) and not package.held
    ]
    return Result("packages", "held", f"not held: {format_value(unheld_packages)}") if unheld_packages else None


STEP = Step(
    "containerd",
    scope="host",
    needs=("prereqs",),
    probes=(
        PACKAGES, REPOSITORIES, SOURCES, CONTAINERD_OFFERS, OS, UNITS, CONFIGURATION, RUNTIME, CGROUPS, MIRRORS, EGRESS,
        DAEMONS, IMAGES, MIRROR_STATE, RUNC,
    ),
    checks=(
        other_runtimes, repository, version, crictl, packages_held, *containerd_files.CHECKS, *containerd_images.CHECKS,
        *containerd_running.CHECKS,
    ),
    settle_seconds=30,
    interrupts="containerd restarts; pods run on, and none starts for some seconds",
)  # fmt: skip

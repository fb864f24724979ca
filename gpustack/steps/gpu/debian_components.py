"""Debian's component contrib, which a fresh host does not have, before packages of NVIDIA's repository are installed.

It is a warning and no refusal, since sources contradict each other. NVIDIA's guides enable it on Debian, for
glx-alternative-nvidia, on which its packages stood (CUDA Installation Guide for Linux, Debian, Preparation;
https://packages.debian.org/trixie/glx-alternative-nvidia). Getty/rex-gpu compared nvidia-driver-cuda and
nvidia-kernel-open-dkms with the indexes of both archives in 2026, and found NVIDIA's repository and main to be enough
(lib/Rex/GPU/NVIDIA/Setup/Debian.pm, t/90-debian-cuda-repo.t).
"""

from collections.abc import Sequence

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.host.system import OS
from gpustack.probes.packages.dpkg import SOURCES, Source
from gpustack.steps.apt_repository import parse_address
from gpustack.steps.gpu.mode import list_expected_packages, uses_driver_mode

MAIN, CONTRIB = "main", "contrib"
ARCHIVE_KEY = "debian-archive-"
"""The beginning of the names of Debian's own keyrings; an archive of others may have its components otherwise."""


def describe_missing_component(view: View) -> str:
    """Describe what to add to the sources of a host, before its driver is installed; empty where apt has the component,
    and where it is unknown which sources are Debian's."""
    try:
        if not uses_driver_mode(view, "host") or view[OS].id != "debian":
            return ""
        if all(name in view[GPU_PACKAGES] for name in list_expected_packages(view)):
            return ""
        sources = list_archive_sources(view)
    except FactUnavailable:
        return ""
    if not sources or any(CONTRIB in source.components.split() for source in sources):
        return ""
    first = next(source for source in sources if MAIN in source.components.split())
    return f"Debian's component contrib is not enabled, and NVIDIA's guide asks for it: {advise_component(first)}"


def list_archive_sources(view: View) -> Sequence[Source]:
    """List the sources of Debian's archive for the release of the host: those at an address that has the component
    main."""
    suites = {view[OS].codename, "stable"}
    sources = [
        source
        for source in view[SOURCES].sources
        if suites & set(source.suites.split()) and (not source.key or ARCHIVE_KEY in source.key)
    ]
    addresses = {parse_address(source.uri) for source in sources if MAIN in source.components.split()}
    return [source for source in sources if parse_address(source.uri) in addresses]


def advise_component(source: Source) -> str:
    """Advise the line that enables the component. A source of its own would be another one of the same address, which
    apt refuses where the keys differ."""
    components = " ".join((source.components, CONTRIB))
    if source.file.endswith(".sources"):
        return f"write `Components: {components}` into the stanza of {source.uri} in /etc/apt/{source.file}"
    return f"let the line of {source.uri} in /etc/apt/{source.file} end with `{components}`"

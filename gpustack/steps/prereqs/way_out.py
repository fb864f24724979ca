"""The document that a host asks for before step prereqs changes anything: whether the proxy of the spec leads out."""

from gpustack.ask.view import View
from gpustack.config.resolution import resolve_mirror
from gpustack.steps.apt_repository import find_usable_sources, resolve_repository


def choose_document(view: View) -> str:
    """Choose the address of a file that a later step downloads in any case: the mirror's checksums, else the key of a
    repository. Return an empty text without a proxy, and where the host has a source of somebody else for that
    repository. Raise FactUnavailable where the system of the host is not known."""
    if view.spec.proxy is None:
        return ""
    if mirror := resolve_mirror(view.spec):
        return f"{mirror}/SHA256SUMS"
    name = "nvidia" if view.host.standalone else "kubernetes"
    key = resolve_repository(view, name)["key"]
    return "" if name in find_usable_sources(view) or "{key}" in key else key

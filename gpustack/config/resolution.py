"""Values of the spec with every default filled in: versions, keys, repositories and addresses of files."""

from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from gpustack.config.sections.sources import Mirror
from gpustack.config.spec import Spec
from gpustack.config.versions import Artefact, parse_minor, read_version_set


def resolve_kubernetes_version(spec: Spec) -> str:
    return spec.kubernetes.version or read_version_set(spec.versions).components["kubernetes"]


def resolve_containerd_version(spec: Spec) -> str:
    """Resolve a full version where the spec has one, else a line, as `2.3`, of which any patch will do."""
    return spec.containerd.version or parse_minor(read_version_set(spec.versions).components["containerd"])


def resolve_containerd_minimum(spec: Spec) -> str:
    """Resolve the first good patch of the line that hosts get, or an empty text for a full version of the spec and for
    a line that the version set does not know."""
    line = resolve_containerd_version(spec)
    lines = read_version_set(spec.versions).containerd_lines[parse_minor(resolve_kubernetes_version(spec))]
    return next((first for first in lines if parse_minor(first) == line), "")


def resolve_driver_version(spec: Spec) -> str:
    return spec.gpu.driver.version or read_version_set(spec.versions).components["nvidia-driver"]


def resolve_mirror(spec: Spec) -> str:
    """Resolve the mirror's address without a slash at its end, or an empty string."""
    return spec.source.mirror if isinstance(spec.source, Mirror) else ""


def build_mirror_url(url: str, mirror: str) -> str:
    """Build the address of a file on the mirror, which has the official host as its top directory and the same paths
    below it."""
    if not mirror:
        return url
    parts = urlsplit(url)
    return f"{mirror}/{parts.netloc}{parts.path}"


def resolve_fingerprint(spec: Spec, repository: str) -> str:
    """Resolve the fingerprint of the one key that may sign a repository: the mirror's, else that of the spec, else that
    of the version set, which is `{fingerprint}` where each system has its own."""
    if isinstance(spec.source, Mirror):
        return spec.source.fingerprint
    fingerprint: str | None = getattr(spec.fingerprints, repository)
    return fingerprint or read_version_set(spec.versions).apt[repository].fingerprint


def find_key_expiry(spec: Spec, repository: str) -> date | None:
    """Find the day on which the key that may sign a repository ends. Return None where that is unknown, or never. It is
    known of the minor of the version set alone: one that gets no more patches keeps an old key (kubernetes/release
    issue 3818)."""
    versions = read_version_set(spec.versions)
    source = versions.apt[repository]
    has_same_minor = parse_minor(resolve_kubernetes_version(spec)) == parse_minor(versions.components["kubernetes"])
    is_same_key = resolve_fingerprint(spec, repository) == source.fingerprint
    return source.expires if is_same_key and (has_same_minor or "{minor}" not in source.key) else None


def build_apt_repositories(spec: Spec) -> dict[str, dict[str, Any]]:
    """Build the apt repositories. Words in braces are filled in per host. `end` is in seconds of the epoch, 0 for
    none."""
    mirror, kubernetes_minor = resolve_mirror(spec), parse_minor(resolve_kubernetes_version(spec))
    return {
        name: {
            "uri": build_mirror_url(source.uri.replace("{minor}", kubernetes_minor), mirror),
            "suite": source.suite,
            "components": source.components,
            "key": build_mirror_url(source.key.replace("{minor}", kubernetes_minor), mirror),
            "fingerprint": resolve_fingerprint(spec, name),
            "by_system": source.keys,
            "packages": ",".join(source.packages),
            "end": str(int(datetime(end.year, end.month, end.day, tzinfo=UTC).timestamp()) if end else 0),
        }
        for name, source in read_version_set(spec.versions).apt.items()
        for end in (find_key_expiry(spec, name),)
    }


def build_download(spec: Spec, artefact: Artefact) -> dict[str, Any]:
    """Build the address of an artefact and its checksum, which the version set has, or which the mirror signs."""
    mirror = resolve_mirror(spec)
    sums = dict.fromkeys(artefact.sha256, "signed") if mirror else artefact.sha256
    return {"version": artefact.version, "url": build_mirror_url(artefact.url, mirror), "sha256": sums}


def list_chart_urls(spec: Spec) -> dict[str, str]:
    """List the addresses of charts by their key of the version set. The chart of a disabled step has none."""
    charts = read_version_set(spec.versions).charts
    return {
        key: build_download(spec, charts[key])["url"] for key in charts if key != "keda" or spec.autoscaling.enabled
    }

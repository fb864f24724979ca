"""The spec with every default and version filled in: what roles read and what probe scripts may know."""

from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from gpustack.config import egress
from gpustack.config.endpoint import endpoint_of
from gpustack.config.host import Host
from gpustack.config.images import image_list
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Mirror, Spec
from gpustack.config.versions import Artefact, minor, version_set


def kubernetes_version_of(spec: Spec) -> str:
    return spec.kubernetes.version or version_set(spec.versions).components["kubernetes"]


def containerd_version_of(spec: Spec) -> str:
    """A full version where the spec has one, else a line, as `2.3`, of which any patch will do."""
    return spec.containerd.version or minor(version_set(spec.versions).components["containerd"])


def driver_version_of(spec: Spec) -> str:
    return spec.gpu.driver.version or version_set(spec.versions).components["nvidia-driver"]


def mirror_of(spec: Spec) -> str:
    """The mirror's address without a slash at its end, or an empty string."""
    return spec.source.mirror if isinstance(spec.source, Mirror) else ""


def place(url: str, mirror: str) -> str:
    """A mirror has the official host as its top directory and the same paths below it."""
    if not mirror:
        return url
    parts = urlsplit(url)
    return f"{mirror}/{parts.netloc}{parts.path}"


def fingerprint_of(spec: Spec, repository: str) -> str:
    """Of the one key that may sign it: the mirror's, else that of the spec, else that of the version set, which is
    `{fingerprint}` where each system has its own."""
    if isinstance(spec.source, Mirror):
        return spec.source.fingerprint
    fingerprint: str | None = getattr(spec.fingerprints, repository)
    return fingerprint or version_set(spec.versions).apt[repository].fingerprint


def end_of(spec: Spec, repository: str) -> date | None:
    """When the key that may sign it is known to end; None where that is not known, or never. It is known of the minor
    of the version set alone: one that gets no more patches keeps an old key (kubernetes/release issue 3818)."""
    versions = version_set(spec.versions)
    source = versions.apt[repository]
    same = minor(kubernetes_version_of(spec)) == minor(versions.components["kubernetes"])
    known = fingerprint_of(spec, repository) == source.fingerprint and (same or "{minor}" not in source.key)
    return source.expires if known else None


def apt_of(spec: Spec) -> dict[str, dict[str, Any]]:
    """The apt repositories; what differs by host is left to be filled in. `end` is in seconds of the epoch, 0 for
    none."""
    mirror, wanted = mirror_of(spec), minor(kubernetes_version_of(spec))
    return {
        name: {
            "uri": place(source.uri.replace("{minor}", wanted), mirror),
            "suite": source.suite,
            "components": source.components,
            "key": place(source.key.replace("{minor}", wanted), mirror),
            "fingerprint": fingerprint_of(spec, name),
            "by_system": source.keys,
            "packages": ",".join(source.packages),
            "end": str(int(datetime(end.year, end.month, end.day, tzinfo=UTC).timestamp()) if end else 0),
        }
        for name, source in version_set(spec.versions).apt.items()
        for end in (end_of(spec, name),)
    }


def pinned(spec: Spec, artefact: Artefact) -> dict[str, Any]:
    """Where hosts fetch it from and what it must be: by the version set, or by what the mirror signs."""
    mirror = mirror_of(spec)
    sums = dict.fromkeys(artefact.sha256, "signed") if mirror else artefact.sha256
    return {"version": artefact.version, "url": place(artefact.url, mirror), "sha256": sums}


def charts_of(spec: Spec) -> dict[str, str]:
    """Addresses of charts, by their key of the version set; that of a step that is off is none."""
    charts = version_set(spec.versions).charts
    return {key: pinned(spec, charts[key])["url"] for key in charts if key != "keda" or spec.autoscaling.enabled}


def names(spec: Spec) -> dict[str, str]:
    """Variables of the paths that API probes read."""
    return {
        "MONITORING": spec.monitoring.namespace,
        "RELEASE": spec.monitoring.release,
        "GPU_NAMESPACE": spec.gpu.namespace,
        "GPU_RELEASE": spec.gpu.release,
        "KEDA": spec.autoscaling.namespace,
    }


def exported(inventory: Inventory, host: Host) -> dict[str, str]:
    """Variables that the probe scripts of this host may read."""
    kubernetes = inventory.spec.kubernetes
    return {
        "TIMEOUT_FACTOR": str(inventory.spec.timeout_factor),
        "API": endpoint_of(inventory),
        "POD_CIDR": str(kubernetes.pod_cidr),
        "SERVICE_CIDR": str(kubernetes.service_cidr),
        "DNS_DOMAIN": kubernetes.dns_domain,
        "MIRROR": mirror_of(inventory.spec),
        "CONTAINERD": containerd_version_of(inventory.spec),
        "CONTAINERD_ROOT": apt_of(inventory.spec)["containerd"]["uri"],
        "CHARTS": " ".join(charts_of(inventory.spec).values()),
        "GPU_EXPORTER_PORT": str(inventory.spec.gpu.metrics.port),
        "NODE_EXPORTER_PORT": str(inventory.spec.monitoring.node_exporter_port),
        "KUBE_MINOR": minor(kubernetes_version_of(inventory.spec)),
        **names(inventory.spec),
        **egress.digests(inventory, host),
    }


def resolved(inventory: Inventory, endpoint: str, addresses: dict[str, str]) -> dict[str, Any]:
    """The variable `gpustack` of the overlay. `addresses` are the node addresses by host."""
    spec = inventory.spec
    whole: dict[str, Any] = spec.model_dump(mode="json", by_alias=True)
    for key in ("source", "fingerprints", "proxy"):
        whole.pop(key)
    written = egress.host_files(inventory)
    whole["egress"] = {
        step: [asdict(written[path]) if path in written else {"path": path, "mode": "-"} for path in paths]
        for step, paths in egress.PATHS.items()
    }
    version, versions = kubernetes_version_of(spec), version_set(spec.versions)
    whole["mirror"] = mirror_of(spec)
    whole["mirror_purpose"] = spec.source.purpose if isinstance(spec.source, Mirror) else ""
    user, file = egress.login_of(spec.source) if isinstance(spec.source, Mirror) else ("", "")
    whole["mirror_login"] = {"user": user, "password_file": file} if user else {}
    whole["kubernetes"] |= {"version": version, "minor": minor(version), "endpoint": endpoint}
    whole["containerd"] |= {"version": containerd_version_of(spec), "images": image_list(spec)}
    whole["gpu"]["driver"]["version"] = driver_version_of(spec)
    whole["gpu"]["toolkit"] = {"version": versions.components["nvidia-container-toolkit"]}
    whole["flannel"] |= {
        "version": versions.components["flannel"],
        "manifest": place(versions.flannel.url, mirror_of(spec)),
        "manifest_sha256": versions.flannel.sha256["all"],
    }
    whole["helm"] = pinned(spec, versions.helm)
    whole["storage"] |= {"manifest": pinned(spec, versions.provisioner)}
    named = spec.alerts.receivers.named()
    whole["alerts"]["secret_files"] = {name: one.secret_file for name, one in named.items() if one.secret_file}
    whole["apt"] = apt_of(spec)
    whole["nodes"] = [
        {"name": host.name, "address": addresses[host.name]} for host in inventory.in_cluster if host.name in addresses
    ]
    return whole

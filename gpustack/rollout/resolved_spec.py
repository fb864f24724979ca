"""The spec with every default and version filled in, as roles read it."""

from dataclasses import asdict
from typing import Any

from gpustack.ask import egress, pod_egress
from gpustack.config.inventory import Inventory
from gpustack.config.resolution import (
    build_apt_repositories,
    build_download,
    build_mirror_url,
    resolve_containerd_minimum,
    resolve_containerd_version,
    resolve_driver_version,
    resolve_kubernetes_version,
    resolve_mirror,
)
from gpustack.config.sections.sources import Mirror
from gpustack.config.versions import parse_minor, read_version_set
from gpustack.steps.containerd.images import render_pinned_images


def resolve_spec(inventory: Inventory, endpoint: str, addresses: dict[str, str]) -> dict[str, Any]:
    """Resolve the variable `gpustack` of the overlay. `addresses` are the node addresses by host."""
    spec = inventory.spec
    whole: dict[str, Any] = spec.model_dump(mode="json", by_alias=True)
    for key in ("source", "fingerprints", "proxy"):
        whole.pop(key)
    written = egress.list_host_files(inventory)
    whole["egress"] = {
        step: [
            {**asdict(written[path]), "text": written[path].render_text()}
            if path in written
            else {"path": path, "mode": "-"}
            for path in paths
        ]
        for step, paths in egress.PATHS.items()
    }
    whole["pod_egress"] = {
        step: {
            "prefix": consumer.prefix,
            "entries": [
                {**asdict(entry), "text": entry.render_text()} for entry in pod_egress.list_entries(inventory, consumer)
            ],
        }
        for step, consumer in pod_egress.list_consumers(spec).items()
    }
    version, versions = resolve_kubernetes_version(spec), read_version_set(spec.versions)
    whole["mirror"] = resolve_mirror(spec)
    whole["mirror_simulated"] = spec.source.simulated if isinstance(spec.source, Mirror) else ""
    user, file = egress.select_login(spec.source) if isinstance(spec.source, Mirror) else ("", "")
    whole["mirror_login"] = {"user": user, "password_file": file} if user else {}
    whole["kubernetes"] |= {"version": version, "minor": parse_minor(version), "endpoint": endpoint}
    whole["containerd"] |= {
        "version": resolve_containerd_version(spec),
        "minimum": resolve_containerd_minimum(spec),
        "images": render_pinned_images(spec),
    }
    whole["gpu"]["driver"]["version"] = resolve_driver_version(spec)
    whole["gpu"]["toolkit"] = {"version": versions.components["nvidia-container-toolkit"]}
    whole["flannel"] |= {
        "version": versions.components["flannel"],
        "manifest": build_mirror_url(versions.flannel.url, resolve_mirror(spec)),
        "manifest_sha256": versions.flannel.sha256["all"],
    }
    whole["helm"] = build_download(spec, versions.helm)
    whole["storage"] |= {"manifest": build_download(spec, versions.provisioner)}
    named = spec.alerts.receivers.name_receivers()
    whole["alerts"]["secret_files"] = {
        name: receiver.secret_file for name, receiver in named.items() if receiver.secret_file
    }
    whole["apt"] = build_apt_repositories(spec)
    whole["nodes"] = [
        {"name": host.name, "address": addresses[host.name]}
        for host in inventory.cluster_hosts
        if host.name in addresses
    ]
    return whole

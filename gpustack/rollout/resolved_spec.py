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
    variables: dict[str, Any] = spec.model_dump(mode="json", by_alias=True)
    for key in ("source", "fingerprints", "proxy"):
        variables.pop(key)
    host_files = egress.list_host_files(inventory)
    variables["egress"] = {
        step: [
            {**asdict(host_files[path]), "text": host_files[path].render_text()}
            if path in host_files
            else {"path": path, "mode": "-"}
            for path in paths
        ]
        for step, paths in egress.PATHS.items()
    }
    variables["pod_egress"] = {
        step: {
            "prefix": consumer.prefix,
            "entries": [
                {**asdict(entry), "text": entry.render_text()} for entry in pod_egress.list_entries(inventory, consumer)
            ],
        }
        for step, consumer in pod_egress.list_consumers(spec).items()
    }
    version, versions = resolve_kubernetes_version(spec), read_version_set(spec.versions)
    variables["mirror"] = resolve_mirror(spec)
    variables["mirror_simulated"] = spec.source.simulated if isinstance(spec.source, Mirror) else ""
    user, file = egress.select_login(spec.source) if isinstance(spec.source, Mirror) else ("", "")
    variables["mirror_login"] = {"user": user, "password_file": file} if user else {}
    variables["kubernetes"] |= {"version": version, "minor": parse_minor(version), "endpoint": endpoint}
    variables["containerd"] |= {
        "version": resolve_containerd_version(spec),
        "minimum": resolve_containerd_minimum(spec),
        "images": render_pinned_images(spec),
    }
    variables["gpu"]["driver"]["version"] = resolve_driver_version(spec)
    variables["gpu"]["toolkit"] = {"version": versions.components["nvidia-container-toolkit"]}
    variables["flannel"] |= {
        "version": versions.components["flannel"],
        "manifest": build_mirror_url(versions.flannel.url, resolve_mirror(spec)),
        "manifest_sha256": versions.flannel.sha256["all"],
    }
    variables["helm"] = build_download(spec, versions.helm)
    variables["storage"] |= {"manifest": build_download(spec, versions.provisioner)}
    receivers = spec.alerts.receivers.name_receivers()
    variables["alerts"]["secret_files"] = {
        name: receiver.secret_file for name, receiver in receivers.items() if receiver.secret_file
    }
    variables["apt"] = build_apt_repositories(spec)
    variables["nodes"] = [
        {"name": host.name, "address": addresses[host.name]}
        for host in inventory.cluster_hosts
        if host.name in addresses
    ]
    return variables

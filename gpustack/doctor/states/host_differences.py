"""Settings in which hosts differ that are alike as a rule, of the same group: all hosts of the cluster, or those with
GPUs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import format_value
from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.gpus import FEWEST_HOSTS, MAJORITY
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.events import format_count
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.containerd.pods import RUNTIMES
from gpustack.probes.control_plane.control_plane import AUTHORITIES
from gpustack.probes.firewall.service_rules import PROXY
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.network.links import LINK_STATES, find_managed_links
from gpustack.probes.network.mtus import MTUS
from gpustack.probes.network.resolver import RESOLVER

DIGITS = 12
"""The digits of a hash that tell two of them apart."""
NO_VALUE = "none"


@dataclass(frozen=True)
class Setting:
    """Describe a setting: its title, its probe, how its value is read from the fact of a host, empty where the host has
    no such setting, and how a person reads it there. `of_gpus`: only hosts with GPUs have it."""

    title: str
    probe: Probe[Any]
    read_value: Callable[[Any], str]
    command: Command
    of_gpus: bool = False


def read_authorities(authorities: Any) -> str:
    """Read all authorities that files of Kubernetes on a host trust, an interrupted join among them."""
    hashes = {authorities.host_ca, authorities.join, *(authorities.root or ())} - {""}
    return format_value(sorted(text[:DIGITS] for text in hashes)) if authorities.host_ca else ""


def read_driver_versions(packages: Any) -> str:
    """Read the versions of the packages of the driver. The one that only pins a branch has the branch in its name."""
    versions = {package.version for name, package in packages.items() if not name.startswith("nvidia-driver-pinning")}
    return format_value(sorted(versions)) if versions else ""


def read_managers(links: Any) -> str:
    return format_value([f"{link} by {manager}" for manager, link, _ in find_managed_links(links)])


def read_rules(proxy: Any) -> str:
    """Read whether the kernel has rules of Services, where kube-proxy runs."""
    has_rules = proxy.table or any(counts.services for counts in (proxy.legacy, proxy.nft))
    return ("some" if has_rules else NO_VALUE) if proxy.listening else ""


def read_headers(kernels: Any) -> str:
    """Read whether the running kernel has headers to build a module with, or a built module of the driver."""
    running_kernel = kernels.running
    return (
        ("headers or a built module" if running_kernel.headers or running_kernel.module else NO_VALUE)
        if running_kernel.release
        else ""
    )


def read_pod_mtus(mtus: Any) -> str:
    return format_value([f"{link} {mtu}" for link, mtu in sorted(mtus.pods.items())]) if mtus.pods else ""


SETTINGS = (
    Setting(
        "name servers for pods", RESOLVER, lambda resolver: format_value(resolver.servers) if resolver else "",
        Command("resolvectl", "dns"),
    ),
    Setting(
        "headers of the running kernel", GPU_KERNELS, read_headers, Command("dkms", "status"), of_gpus=True
    ),
    Setting(
        "runtime nvidia of containerd", RUNTIME, lambda runtime: runtime.nvidia or NO_VALUE,
        Command("containerd", "config", "dump"), of_gpus=True,
    ),
    Setting(
        "devices that CDI knows", PLUGIN_FILES, lambda files: ("some" if files.devices else NO_VALUE) if files else "",
        Command("ls", "/etc/cdi", "/var/run/cdi"), of_gpus=True,
    ),
    Setting(
        "packages of the driver", GPU_PACKAGES, read_driver_versions, Command("dpkg", "-l", "*nvidia*"), of_gpus=True
    ),
    Setting(
        "other container runtimes", RUNTIMES, format_value, Command("ss", "-xl")
    ),
    Setting(
        "certificate authority (CA) of Kubernetes", AUTHORITIES, read_authorities,
        Command("openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", "/etc/kubernetes/pki/ca.crt"),
    ),
    Setting(
        "kube-proxy", PROXY, lambda proxy: "listens" if proxy.listening else "does not listen",
        Command("curl", "http://127.0.0.1:10256/healthz"),
    ),
    Setting("rules of Services (KUBE-SERVICES)", PROXY, read_rules, Command("iptables-save", "-t", "nat")),
    Setting(
        "rules of kube-proxy in iptables-legacy", PROXY, lambda proxy: "some" if proxy.legacy.total else NO_VALUE,
        Command("iptables-legacy-save"),
    ),
    Setting(
        "MTU of the link with the default route", MTUS, lambda mtus: str(mtus.outer),
        Command("ip", "-o", "link", "show"),
    ),
    Setting("MTUs of the links of pods", MTUS, read_pod_mtus, Command("ip", "-o", "link", "show")),
    Setting("managed links of pods", LINK_STATES, read_managers, Command("networkctl", "list")),
)  # fmt: skip


def build_observer(setting: Setting) -> Observer:
    def observe_setting(view: View) -> Iterator[AbnormalState]:
        hosts_by_value = group_hosts(view, setting)
        if len(hosts_by_value) > 1:
            yield build_state(setting, hosts_by_value)

    name = setting.title.replace(" ", "-").replace("(", "").replace(")", "").lower()
    return Observer(f"same-{name}", f"Differences in {setting.title}", observe_setting, (setting.probe,), yields=True)


def group_hosts(view: View, setting: Setting) -> dict[str, tuple[str, ...]]:
    """Group the hosts by the value of a setting. A host of which it is unknown, or that has none, is in no group."""
    hosts_by_value: dict[str, tuple[str, ...]] = {}
    for host in view.hosts:
        host_view = view.select_host(host.name)
        if setting.of_gpus and not (host_view.has_fact(GPU_DEVICES) and host_view[GPU_DEVICES]):
            continue
        if host_view.has_fact(setting.probe) and (value := setting.read_value(host_view[setting.probe])):
            hosts_by_value[value] = (*hosts_by_value.get(value, ()), host.name)
    return hosts_by_value


def build_state(setting: Setting, hosts_by_value: Mapping[str, tuple[str, ...]]) -> AbnormalState:
    """Build the state of a setting, at the hosts that are not in the largest group. Where no group is clearly the
    largest, each value may be the right one, and all hosts are named."""
    groups = sorted(hosts_by_value.items(), key=lambda group: len(group[1]))
    host_count, (_, usual_hosts) = sum(map(len, hosts_by_value.values())), groups[-1]
    is_clear = host_count >= FEWEST_HOSTS and len(usual_hosts) >= MAJORITY * host_count
    odd_groups = groups[:-1] if is_clear else groups
    severity: Severity = "risk" if is_clear else "note"
    locations = tuple(host for _, hosts in odd_groups for host in hosts)
    message = "; ".join(f"{value} on {describe_hosts(hosts)}" for value, hosts in groups)
    return AbnormalState("hosts-differ", severity, locations, (setting.title,), message, setting.command)


def describe_hosts(hosts: Iterable[str]) -> str:
    names = tuple(hosts)
    return ", ".join(names) if len(names) <= FEWEST_HOSTS else format_count(len(names), "host")


OBSERVERS = tuple(build_observer(setting) for setting in SETTINGS)

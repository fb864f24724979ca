"""Names that are looked up where they cannot be found: hosts that ask no name server, and plugins of CoreDNS behind
which nothing is asked."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.network.name_sources import NAME_SOURCES, SWITCH
from gpustack.probes.network.plugin_chain import LAST_PLUGINS
from gpustack.probes.network.resolver import RESOLVER

SERVER_SOURCES = {"dns", "resolve", "libvirt", "sss", "wins", "nis", "ldap"}
"""Sources that ask a server; `files`, `myhostname`, `mymachines` and `mdns4_minimal` do not."""


def observe_sources(view: View) -> Iterator[AbnormalState]:
    """List hosts that have a name server and ask none."""
    sources, resolver = view[NAME_SOURCES], view[RESOLVER]
    if sources and resolver and resolver.servers and not SERVER_SOURCES & set(sources):
        message = (
            f"its nsswitch.conf looks for hosts in {format_value(sources)} only: programs of the host do not ask the "
            f"name server {format_value(resolver.servers)}, and containerd finds no registry by its name"
        )
        subject = f"resolver of {view.location}"
        command = Command("grep", "^hosts", SWITCH)
        yield AbnormalState("settings-contradict", "risk", (view.location,), (subject,), message, command)


def observe_plugins(view: View) -> Iterator[AbnormalState]:
    """List plugins that pass no name on, so that those of Services and of the outside are unknown."""
    for plugin in view[LAST_PLUGINS]:
        message = (
            f"its plugin {plugin} has no fallthrough: for names that it does not have, the plugins behind it, "
            "kubernetes and forward, are not asked"
        )
        command = Command("kubectl", "-n", "kube-system", "get", "configmap", "coredns", "-o", "yaml")
        subject = "configmap kube-system/coredns"
        yield AbnormalState("settings-contradict", "broken", (CLUSTER,), (subject,), message, command)


OBSERVERS = (
    Observer("name-sources", "Sources of names of hosts", observe_sources, (NAME_SOURCES, RESOLVER), scope="host"),
    Observer("plugin-chain", "Plugins of CoreDNS", observe_plugins, (LAST_PLUGINS,)),
)

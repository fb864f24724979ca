"""A reset for people: what it would remove, what it removed, and what remains. report/removal/json.py has it for
programs."""

from collections.abc import Collection, Iterator

from gpustack.events import format_count
from gpustack.report.findings import print_command, print_field, print_text
from gpustack.report.format import format_locations
from gpustack.report.human import print_failures, print_next_command, print_playbook
from gpustack.report.terminal import Terminal
from gpustack.rollout.removal import HostRemoval, Removal
from gpustack.rollout.reset import ResetOutcome
from gpustack.times import format_duration

SYSTEM_NAMESPACES = ("kube-system/", "kube-flannel/")
MAX_PODS = 8
INDENT = 17
"""Names of what is removed begin behind their step."""
STYLES = {"foreign": "magenta", "unknown": "yellow"}


def print_empty_reset(console: Terminal, removal: Removal) -> None:
    console.hide_secrets(removal.snapshot.inventory)
    hosts, pronoun = format_count(len(removal.hosts), "host"), "it" if len(removal.hosts) == 1 else "them"
    print_text(console, f"{hosts}, {format_fact_summary(removal)}: nothing of gpustack is on {pronoun}", "green")
    print_remaining(console, removal)


def render_removal(console: Terminal, removal: Removal) -> None:
    """Print, for each host, its cluster, its pods and what would be removed; then what stays."""
    console.hide_secrets(removal.snapshot.inventory)
    print_text(console, f"{format_count(len(removal.hosts), 'host')}, {format_fact_summary(removal)}: to be removed")
    for host_removal in removal.hosts:
        print_host(console, host_removal, removal.platform_namespaces)
    print_remaining(console, removal)
    if any(host_removal.pods or host_removal.cluster for host_removal in removal.due_hosts):
        print_text(console, "\nWhat pods and etcd stored on these hosts is lost.", "bold")


def render_outcome(console: Terminal, outcome: ResetOutcome, evidence: str = "") -> None:
    if outcome.after is outcome.before:
        print_empty_reset(console, outcome.before)
        return
    console.hide_secrets(outcome.before.snapshot.inventory)
    after, code = outcome.after, outcome.exit_status
    if outcome.playbook_run:
        print_playbook(console, outcome.playbook_run)
        print_failures(console, outcome.playbook_run)
    if outcome.stop_reason:
        print_text(console, f"\nstopped: {outcome.stop_reason}", "red")
    for host_removal in outcome.after.hosts if code else ():
        if host_removal.due:
            print_host(console, host_removal, after.platform_namespaces)
    print_text(
        console, f"\n{format_count(len(after.hosts), 'host')}: {describe_state(outcome)}", "" if code else "green"
    )
    print_text(console, f"{format_duration(outcome.seconds)}; verified: {format_fact_summary(after)}")
    print_remaining(console, after)
    if code:
        print_text(console, f"\nevidence: {evidence}")
    print_next_command(console, outcome.next_command)


def describe_state(outcome: ResetOutcome) -> str:
    if outcome.incomplete_hosts:
        return f"something is left on {format_locations([removal.host for removal in outcome.incomplete_hosts])}"
    if outcome.unknown:
        return f"what is left on {format_locations([removal.host for removal in outcome.unknown])} is unknown"
    return "nothing of gpustack is left"


def print_host(console: Terminal, host_removal: HostRemoval, platform: Collection[str]) -> None:
    role = "control plane" if host_removal.control_plane else "worker"
    cluster_suffix = f" of {host_removal.cluster}" if host_removal.cluster else ""
    print_text(console, f"\n{host_removal.host}  {role}{cluster_suffix}", "bold")
    for name, text in list_rows(host_removal, platform):
        style = STYLES.get(name, "")
        print_field(console, f"  {name}", text, INDENT, style, style)


def list_rows(host_removal: HostRemoval, platform: Collection[str]) -> Iterator[tuple[str, str]]:
    if not host_removal.due:
        yield "nothing", "of gpustack is on it"
    if host_removal.foreign:
        yield "foreign", host_removal.foreign
    if host_removal.node:
        yield (
            "node",
            f"{host_removal.node}: {'its pods move away, then it is deleted' if host_removal.drain else 'deleted'}",
        )
    if host_removal.pods is None:
        yield "pods", "unknown which ones run"
    elif host_removal.pods:
        yield "pods stop", describe_pods(host_removal.pods, platform)
    for step, traces in host_removal.traces:
        yield step, ", ".join(map(str, traces))
    if host_removal.holds:
        yield "holds", ", ".join(host_removal.holds)
    if host_removal.packages:
        yield "packages", ", ".join(host_removal.packages)
    for text in host_removal.unknown:
        yield "unknown", text


def describe_pods(names: tuple[str, ...], platform: Collection[str]) -> str:
    """Describe pods by who has them. `platform` has the namespaces of gpustack and Kubernetes."""
    system_pods = [name for name in names if name.startswith(SYSTEM_NAMESPACES)]
    own_pods = [name for name in names if name.partition("/")[0] in platform and name not in system_pods]
    user_pods = [name for name in names if name not in system_pods and name not in own_pods]
    pod_list = ", ".join(user_pods[:MAX_PODS]) + (", …" if len(user_pods) > MAX_PODS else "")
    parts = [
        f"{len(user_pods)} of yours ({pod_list})" if user_pods else "",
        f"{len(own_pods)} of gpustack" if own_pods else "",
        f"{len(system_pods)} of Kubernetes",
    ]
    return ", ".join(filter(None, parts))


def print_remaining(console: Terminal, removal: Removal) -> None:
    """Print what stays on purpose, and which hosts were not reached."""
    hosts_by_text = dict[str, list[str]]()
    for host in removal.hosts:
        for text in host.kept_resources:
            hosts_by_text.setdefault(text, []).append(host.host)
    if hosts_by_text:
        print_text(console, "\nkept", "bold")
    for text, names in hosts_by_text.items():
        print_field(console, f"  {format_locations(names)}", text, INDENT, "dim")
    for name in removal.unreachable_hosts:
        reach = removal.snapshot.reach[name]
        print_text(console, f"\n{name}: unreachable, {reach.reason} ({reach.reference})", "yellow")
        print_command(console, reach.hint, INDENT)


def format_fact_summary(removal: Removal) -> str:
    return f"{format_count(len(removal.snapshot.answers), 'fact')}, {format_duration(removal.snapshot.seconds)}"

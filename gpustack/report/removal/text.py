"""What a reset would take, what it took and what is left, for people. report/removal/json.py has it for programs."""

from collections.abc import Iterator

from gpustack.command import NO_HINT, Hint
from gpustack.events import count
from gpustack.report.codes import reset_code
from gpustack.report.findings import field, say, typed
from gpustack.report.format import duration, places
from gpustack.report.human import failures, following, playbook
from gpustack.report.terminal import Terminal
from gpustack.rollout.next import build_command
from gpustack.rollout.removal import HostRemoval, Removal
from gpustack.rollout.reset import ResetOutcome

SYSTEM = ("kube-system/", "kube-flannel/")
SHOWN_PODS = 8
INDENT = 17
"""Of what goes: behind the name of its step."""
STYLES = {"foreign": "magenta", "unknown": "yellow"}


def nothing(console: Terminal, found: Removal) -> None:
    console.hide(found.snapshot.inventory)
    who = "it" if len(found.hosts) == 1 else "them"
    say(console, f"{count(len(found.hosts), 'host')}, {fact_count(found)}: nothing of gpustack is on {who}", "green")
    show_kept(console, found)


def removal(console: Terminal, found: Removal) -> None:
    """Per host: which cluster, what runs, what goes; then what stays."""
    if not found.due:
        nothing(console, found)
        return
    console.hide(found.snapshot.inventory)
    say(console, f"{count(len(found.hosts), 'host')}, {fact_count(found)}: to be removed")
    for one in found.hosts:
        host(console, one)
    show_kept(console, found)
    if any(one.pods or one.cluster for one in found.due):
        say(console, "\nWhat pods and etcd stored on these hosts is lost.", "bold")


def outcome(console: Terminal, done: ResetOutcome, evidence: str) -> None:
    console.hide(done.before.snapshot.inventory)
    after, code = done.after, reset_code(done)
    if done.played:
        playbook(console, done.played)
        failures(console, done.played)
    if done.stopped:
        say(console, f"\nstopped: {done.stopped}", "red")
    for one in done.after.hosts if code else ():
        if one.due:
            host(console, one)
    say(console, f"\n{count(len(after.hosts), 'host')}: {standing(done)}", "" if code else "green")
    say(console, f"{duration(done.seconds)}; verified: {fact_count(after)}")
    show_kept(console, after)
    if code:
        say(console, f"\nevidence: {evidence}")
    following(console, after_reset(done))


def standing(done: ResetOutcome) -> str:
    if done.left:
        return f"something is left on {places([one.host for one in done.left])}"
    if done.unknown:
        return f"what is left on {places([one.host for one in done.unknown])} is unknown"
    return "nothing of gpustack is left"


def after_reset(done: ResetOutcome) -> Hint:
    """The next command to type."""
    inventory, named = done.before.snapshot.inventory, [one.host for one in done.before.hosts]
    if not (done.stopped or done.left or (done.played and done.played.failures)):
        return NO_HINT
    some = len(named) + len(done.before.unreached) < len(inventory.hosts)
    return build_command(inventory, "reset").extend(*(["--limit", ",".join(named)] if some else []))


def host(console: Terminal, one: HostRemoval) -> None:
    title = f"{'control plane' if one.control_plane else 'worker'}{f' of {one.cluster}' if one.cluster else ''}"
    say(console, f"\n{one.host}  {title}", "bold")
    for name, text in rows(one):
        style = STYLES.get(name, "")
        field(console, f"  {name}", text, INDENT, style, style)


def rows(one: HostRemoval) -> Iterator[tuple[str, str]]:
    if not one.due:
        yield "nothing", "of gpustack is on it"
    if one.foreign:
        yield "foreign", one.foreign
    if one.node:
        yield "node", f"{one.node}: {'its pods move away, then it is deleted' if one.drain else 'deleted'}"
    if one.pods is None:
        yield "pods", "unknown which ones run"
    elif one.pods:
        yield "pods stop", pods(one.pods)
    for step, traces in one.traces:
        yield step, ", ".join(map(str, traces))
    if one.holds:
        yield "holds", ", ".join(one.holds)
    if one.packages:
        yield "packages", ", ".join(one.packages)
    for text in one.unknown:
        yield "unknown", text


def pods(names: tuple[str, ...]) -> str:
    mine = [name for name in names if not name.startswith(SYSTEM)]
    theirs = f"{len(names) - len(mine)} of Kubernetes"
    shown = ", ".join(mine[:SHOWN_PODS]) + (", …" if len(mine) > SHOWN_PODS else "")
    return f"{len(mine)} of yours ({shown}), {theirs}" if mine else theirs


def show_kept(console: Terminal, found: Removal) -> None:
    """What stays, and who could not be asked."""
    folded = dict[str, list[str]]()
    for one in found.hosts:
        for text in one.stays:
            folded.setdefault(text, []).append(one.host)
    if folded:
        say(console, "\nkept", "bold")
    for text, names in folded.items():
        field(console, f"  {places(names)}", text, INDENT, "dim")
    for name in found.unreached:
        reach = found.snapshot.reach[name]
        say(console, f"\n{name}: not reached, {reach.why} ({reach.reference})", "yellow")
        typed(console, reach.hint, INDENT)


def fact_count(found: Removal) -> str:
    return f"{count(len(found.snapshot.answers), 'fact')}, {duration(found.snapshot.took)}"

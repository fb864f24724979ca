"""Results for people: calm when nothing differs, readable at 80 columns, the next command at the end.

Rich honours NO_COLOR and pipes. The output of hosts is shown as literal text, never as markup.
"""

from itertools import groupby

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Hint, Prose
from gpustack.events import count
from gpustack.report.findings import body, grid, say, typed
from gpustack.report.format import duration, facts, places
from gpustack.report.terminal import Terminal
from gpustack.rollout.gpus import counted, removal, summary
from gpustack.rollout.next import after_install, after_look
from gpustack.rollout.plan import Outcome, Plan, Played, Verification
from gpustack.steps.monitoring.values import lost_history


def plan(console: Terminal, found: Plan, *, verbose: bool = False) -> None:
    console.hide(found.inventory)
    hosts = count(len(found.inventory.hosts), "host")
    if found.converged:
        calm(console, f"{hosts} converged, {facts(found)}, {duration(found.snapshot.took)}, nothing to do")
        devices(console, found, "green")
        history(console, found)
        if verbose:
            body(console, found, verbose=True)
        return
    say(console, f"{hosts}, {facts(found)}, {duration(found.snapshot.took)}: {standing(found)}")
    devices(console, found)
    history(console, found)
    body(console, found, verbose=verbose)
    following(console, after_look(found))


def verification(console: Terminal, checked: Verification, *, verbose: bool = False) -> None:
    found = checked.plan
    console.hide(found.inventory)
    hosts = count(len(found.inventory.hosts), "host")
    if found.converged:
        calm(console, f"{hosts} verified, {facts(found)}, {duration(checked.seconds)}, nothing differs")
        devices(console, found, "green")
    else:
        say(console, f"{hosts}, {facts(found)}, {duration(checked.seconds)}: {standing(found)}")
        devices(console, found)
    if verbose or not found.converged:
        body(console, found, verbose=verbose)
    following(console, after_look(found))


def outcome(console: Terminal, done: Outcome, *, verbose: bool = False, evidence: str = "") -> None:
    console.hide(done.before.inventory)
    found = done.verification.plan
    for played in done.played:
        playbook(console, played)
    for played in done.played:
        failures(console, played)
    if done.stopped:
        say(console, f"\nstopped: {done.stopped}", "red")
    hosts, ran = count(len(found.inventory.hosts), "host"), count(len(done.played), "playbook")
    changes = count(sum(played.tasks_changed for played in done.played), "change")
    stands = "converged and verified" if found.converged else standing(found)
    style = "green" if found.converged else ""
    say(console, f"\n{hosts}: {stands}", style)
    say(console, f"{ran}, {changes}, {duration(done.seconds)}; verified: {fact_count(done.verification)}", style)
    devices(console, found, style)
    if not found.converged:
        for step, names in groupby(sorted(done.left, key=lambda pair: pair[1]), key=lambda pair: pair[1]):
            got = "not reached" if step == "reach" else f"stopped at step {step}"
            say(console, f"{places([name for name, _ in names])}: {got}", "red")
        body(console, found, verbose=verbose)
        if evidence:
            say(console, f"\nevidence: {evidence}")
    following(console, after_install(done))


def history(console: Terminal, found: Plan) -> None:
    if lost := lost_history(View(found.snapshot, CLUSTER)):
        say(console, lost, "yellow")


def devices(console: Terminal, found: Plan, style: str = "") -> None:
    gpus = counted(found)
    if gpus is None:
        return
    say(console, summary(gpus), style)
    for line in gpus.aside:
        say(console, f"  not counted: {line}", style)
    if gpus.stranded:
        what = f"{count(len(gpus.stranded), 'pod')} that got no GPU (UnexpectedAdmissionError), Failed until deleted:"
        say(console, what, style)
        for command in removal(gpus.stranded):
            typed(console, command, 2)


def fact_count(checked: Verification) -> str:
    return f"{facts(checked.plan)} in {duration(checked.seconds)}"


def playbook(console: Terminal, played: Played) -> None:
    fine = [name for name in played.hosts if name not in played.failed]
    unchanged = [name for name in fine if name not in played.changed]
    parts = [
        f"{word} {places(names)}"
        for word, names in (
            ("changed", [name for name in fine if name in played.changed]),
            ("unchanged", unchanged),
            ("failed on", list(played.failed)),
        )
        if names
    ]
    say(console, f"{played.step}: {'; '.join(parts)} ({duration(played.seconds)})", "red" if played.failed else "")


def failures(console: Terminal, played: Played) -> None:
    for failure in played.failures:
        say(console, f"\n{played.step} failed on {failure.host}", "bold red")
        grid(
            console,
            [
                ("task", failure.task),
                ("file", failure.path),
                ("output", failure.message),
            ],
        )
        say(console, "  equivalent command", "dim")
        typed(console, played.command, 4)


def standing(found: Plan) -> str:
    """In a few words, how it stands."""
    steps = len(dict.fromkeys(state.step for state in found.states))
    parts = []
    if found.drifted:
        differing = len({state.step for state in found.drifted})
        parts.append(f"{differing} of {count(steps, 'step')} {'differs' if differing == 1 else 'differ'}")
    if found.unreached:
        parts.append(f"{count(len(found.unreached), 'host')} not reached")
    if unknown := {state.step for state in found.unknown if state.where not in found.unreached}:
        parts.append(f"{count(len(unknown), 'step')} unknown")
    return ", ".join(parts)


def calm(console: Terminal, text: str) -> None:
    say(console, text, "green")


def following(console: Terminal, command: Hint) -> None:
    if command:
        console.print()
        typed(console, Prose("next: {}", command), 0)

"""Results for people: short when nothing differs, readable at 80 columns, with the next command at the end.

Rich honours NO_COLOR and pipes. Output of hosts is shown as literal text, never as markup.
"""

from itertools import groupby

from gpustack.command import Hint, Prose
from gpustack.events import format_count
from gpustack.report.findings import print_command, print_findings, print_grid, print_text
from gpustack.report.format import format_facts, format_locations
from gpustack.report.terminal import Terminal
from gpustack.rollout.gpus import Gpus
from gpustack.rollout.next_command import suggest_after_install, suggest_after_plan
from gpustack.rollout.plan import Outcome, Plan, PlaybookRun, Verification
from gpustack.times import format_duration


def render_plan(console: Terminal, plan: Plan, *, verbose: bool = False) -> None:
    console.hide_secrets(plan.inventory)
    hosts = format_count(len(plan.inventory.hosts), "host")
    if plan.converged:
        print_success(
            console, f"{hosts} converged, {format_facts(plan)}, {format_duration(plan.snapshot.seconds)}, nothing to do"
        )
        print_gpus(console, plan, "green")
        print_warnings(console, plan)
        if verbose:
            print_findings(console, plan, verbose=True)
        return
    print_text(
        console, f"{hosts}, {format_facts(plan)}, {format_duration(plan.snapshot.seconds)}: {describe_state(plan)}"
    )
    print_gpus(console, plan)
    print_warnings(console, plan)
    print_findings(console, plan, verbose=verbose)
    print_next_command(console, suggest_after_plan(plan))


def render_verification(console: Terminal, verification: Verification, *, verbose: bool = False) -> None:
    plan = verification.plan
    console.hide_secrets(plan.inventory)
    hosts = format_count(len(plan.inventory.hosts), "host")
    if plan.converged:
        print_success(
            console, f"{hosts} verified, {format_facts(plan)}, {format_duration(verification.seconds)}, nothing differs"
        )
        print_gpus(console, plan, "green")
    else:
        print_text(
            console, f"{hosts}, {format_facts(plan)}, {format_duration(verification.seconds)}: {describe_state(plan)}"
        )
        print_gpus(console, plan)
    print_warnings(console, plan)
    if verbose or not plan.converged:
        print_findings(console, plan, verbose=verbose)
    print_next_command(console, suggest_after_plan(plan))


def render_outcome(console: Terminal, outcome: Outcome, *, verbose: bool = False, evidence: str = "") -> None:
    plan = outcome.verification.plan
    if plan is outcome.before and plan.converged and not outcome.stop_reason:
        render_plan(console, plan, verbose=verbose)
        return
    console.hide_secrets(plan.inventory)
    for playbook_run in outcome.playbook_runs:
        print_playbook(console, playbook_run)
    for playbook_run in outcome.playbook_runs:
        print_failures(console, playbook_run)
    if outcome.stop_reason:
        print_text(console, f"\nstopped: {outcome.stop_reason}", "red")
    hosts = format_count(len(plan.inventory.hosts), "host")
    playbooks = format_count(len(outcome.playbook_runs), "playbook")
    changes = format_count(sum(run.tasks_changed for run in outcome.playbook_runs), "change")
    facts = format_fact_summary(outcome.verification)
    state = "converged and verified" if plan.converged else describe_state(plan)
    style = "green" if plan.converged else ""
    print_text(console, f"\n{hosts}: {state}", style)
    print_text(console, f"{playbooks}, {changes}, {format_duration(outcome.seconds)}; verified: {facts}", style)
    print_gpus(console, plan, style)
    print_warnings(console, plan)
    if not plan.converged:
        for step, names in groupby(sorted(outcome.stopped_hosts, key=lambda pair: pair[1]), key=lambda pair: pair[1]):
            problem = "unreachable" if step == "reach" else f"stopped at step {step}"
            print_text(console, f"{format_locations([name for name, _ in names])}: {problem}", "red")
        print_findings(console, plan, verbose=verbose)
        if evidence:
            print_text(console, f"\nevidence: {evidence}")
    print_next_command(console, suggest_after_install(outcome))


def print_warnings(console: Terminal, plan: Plan) -> None:
    for sentence in plan.warnings:
        print_text(console, sentence, "yellow")


def print_gpus(console: Terminal, plan: Plan, style: str = "") -> None:
    if (gpus := plan.gpus) is None:
        return
    print_text(console, format_gpus(gpus), style)
    for line in gpus.excluded_devices:
        print_text(console, f"  not counted: {line}", style)
    if gpus.stranded_pods:
        pods = format_count(len(gpus.stranded_pods), "pod")
        print_text(console, f"{pods} that got no GPU (UnexpectedAdmissionError), Failed until deleted:", style)
        for command in gpus.removal_commands:
            print_command(console, command, 2)


def format_gpus(gpus: Gpus) -> str:
    allocatable = "allocatable unknown" if gpus.allocatable is None else f"{gpus.allocatable} allocatable"
    counts = f"{format_count(gpus.expected, 'GPU')} on {format_count(gpus.hosts, 'host')}"
    return f"{counts}, {allocatable}; {gpus.series} series in Prometheus expected for each GPU"


def format_fact_summary(verification: Verification) -> str:
    return f"{format_facts(verification.plan)} in {format_duration(verification.seconds)}"


def print_playbook(console: Terminal, playbook_run: PlaybookRun) -> None:
    successful_hosts = [name for name in playbook_run.hosts if name not in playbook_run.failed_hosts]
    unchanged_hosts = [name for name in successful_hosts if name not in playbook_run.changed_hosts]
    parts = [
        f"{word} {format_locations(names)}"
        for word, names in (
            ("changed", [name for name in successful_hosts if name in playbook_run.changed_hosts]),
            ("unchanged", unchanged_hosts),
            ("failed on", list(playbook_run.failed_hosts)),
        )
        if names
    ]
    print_text(
        console,
        f"{playbook_run.step}: {'; '.join(parts)} (playbook {format_duration(playbook_run.seconds)})",
        "red" if playbook_run.failed_hosts else "",
    )


def print_failures(console: Terminal, playbook_run: PlaybookRun) -> None:
    for failure in playbook_run.failures:
        print_text(console, f"\n{playbook_run.step} failed on {failure.host}", "bold red")
        print_grid(console, [("task", failure.task), ("file", failure.path), ("output", failure.message)])
        print_text(console, "  equivalent command", "dim")
        print_command(console, playbook_run.command, 4)


def describe_state(plan: Plan) -> str:
    """Describe in a few words what differs and what is unknown."""
    steps = len(dict.fromkeys(state.step for state in plan.states))
    parts = []
    if plan.drifted_states:
        differing = len({state.step for state in plan.drifted_states})
        verb = "differs" if differing == 1 else "differ"
        parts.append(f"{differing} of {format_count(steps, 'applicable step')} {verb}")
    if plan.unreachable_hosts:
        parts.append(f"{format_count(len(plan.unreachable_hosts), 'host')} unreachable")
    if unknown := {state.step for state in plan.unknown if state.location not in plan.unreachable_hosts}:
        parts.append(f"{format_count(len(unknown), 'step')} unknown")
    return ", ".join(parts)


def print_success(console: Terminal, text: str) -> None:
    print_text(console, text, "green")


def print_next_command(console: Terminal, command: Hint) -> None:
    if command:
        console.print()
        print_command(console, Prose("next: {}", command), 0)

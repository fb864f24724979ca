"""The command to type next, chosen by the state of the cluster."""

from collections.abc import Sequence

from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTION
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.plan import Outcome, Plan, has_playable_step
from gpustack.steps.gpu.count import list_gpus


def build_command(inventory: Inventory, *words: str) -> Command:
    """Build the gpustack command of these words, for the hosts of the inventory."""
    return Command("gpustack", *words, *(["-i", inventory.name] if inventory.name else []))


def repeat_command(verb: str, hosts: Inventory, *flags: str, **choices: Sequence[str] | None) -> Command:
    """Return the command that was declined, with --yes, the same hosts and the same options."""
    named_options = [word for name, words in choices.items() if words for word in (f"--{name}", ",".join(words))]
    this_host = [] if hosts.source else ["--this-host"]
    return build_command(hosts, verb, "--yes").extend(*named_options, *this_host, *filter(None, flags))


def suggest_after_plan(plan: Plan) -> Hint:
    """Suggest the command after `plan` and `verify`; none when there is nothing to do."""
    if plan.converged:
        return NO_HINT
    for name in plan.unreachable_hosts:
        reach = plan.snapshot.reach[name]
        hint = reach.hint if reach.reference.startswith("host-key-") else NO_HINT
        return hint or Command("gpustack", "explain", reach.reference)
    # A hint may be prose: it stands beside its finding, and what is next is a command.
    explanations = [
        Command("gpustack", "explain", "upgrade-needed" if mismatch.cure == "upgrade" else f"{state.step}/{check}")
        for state in plan.drifted_states
        for check, mismatch in state.manual_differences
    ]
    if has_playable_step(plan):
        return build_command(plan.inventory, "install")
    if explanations:
        return explanations[0]
    return build_command(plan.inventory, "plan", "-v")


def has_gpus(plan: Plan) -> bool:
    views = [View(plan.snapshot, host.name) for host in plan.inventory.hosts]
    return any(view.has_fact(GPU_DEVICES) and list_gpus(view) for view in views)


def suggest_after_install(outcome: Outcome) -> Hint:
    plan = outcome.verification.plan
    if plan.converged and not plan.inventory.cluster_hosts:
        return build_command(plan.inventory, "verify")
    if plan.converged and has_gpus(plan):
        return build_command(plan.inventory, "prove")
    if plan.converged:
        return build_command(plan.inventory, "kubeconfig", "--out", "kubeconfig")
    if outcome.stop_reason == INTERRUPTION:
        return build_command(plan.inventory, "install")
    if not outcome.playbook_runs and not has_playable_step(plan):
        return suggest_after_plan(plan)
    # What was just played and still differs is first looked at; playing it again blindly is no advice.
    if any(playbook_run.failures for playbook_run in outcome.playbook_runs) or plan.drifted_states:
        return build_command(plan.inventory, "plan", "-v")
    return suggest_after_plan(plan)

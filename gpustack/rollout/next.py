"""The next command to type, by how things stand."""

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTED
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.plan import Outcome, Plan
from gpustack.steps.gpu.count import gpus as of_host


def build_command(inventory: Inventory, *words: str) -> Command:
    """Return the gpustack command of these words, for the hosts of the inventory."""
    return Command("gpustack", *words, *(["-i", str(inventory.source)] if inventory.source else []))


def after_look(found: Plan) -> Hint:
    """After `plan` and `verify`. Empty when there is nothing to do."""
    if found.converged:
        return NO_HINT
    # A hint may be prose: it stands beside its finding, and what is next is a command.
    refused = [
        Command("gpustack", "explain", "upgrade-needed" if mismatch.cure == "upgrade" else f"{state.step}/{check}")
        for state in found.drifted
        for check, mismatch in state.left
    ]
    fixable = any(mismatch.cure == "install" for state in found.drifted for mismatch in state.differences)
    if fixable and not (refused and is_stuck(found)):
        return build_command(found.inventory, "install")
    if refused:
        return refused[0]
    for name in found.unreached:
        reach = found.snapshot.reach[name]
        typed = reach.hint if reach.reference.startswith("host-key-") else NO_HINT
        return typed or Command("gpustack", "explain", reach.reference)
    return build_command(found.inventory, "plan", "-v")


def is_stuck(found: Plan) -> bool:
    """A person is needed on the control plane or on every host: install would get nowhere before."""
    places = {state.where for state, _ in found.refused}
    planes = {host.name for host in found.inventory.control_planes} | {CLUSTER}
    return bool(places & planes) or places >= {host.name for host in found.inventory.hosts} - set(found.unreached)


def has_gpus(found: Plan) -> bool:
    views = [View(found.snapshot, host.name) for host in found.inventory.hosts]
    return any(view.available(GPU_DEVICES) and of_host(view) for view in views)


def after_install(done: Outcome) -> Hint:
    found = done.verification.plan
    if found.converged and not found.inventory.in_cluster:
        return build_command(found.inventory, "verify")
    if found.converged and has_gpus(found):
        return build_command(found.inventory, "prove")
    if found.converged:
        return build_command(found.inventory, "kubeconfig", "--out", "kubeconfig")
    if done.stopped == INTERRUPTED:
        return build_command(found.inventory, "install")
    # What was just played and still differs is first looked at; playing it again blindly is no advice.
    if any(played.failures for played in done.played) or found.drifted:
        return build_command(found.inventory, "plan", "-v")
    return after_look(found)

"""The next command to type, by how things stand."""

import shlex

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.events import INTERRUPTED
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.plan import Outcome, Plan
from gpustack.steps.gpu.count import gpus as of_host


def command(verb: str, inventory: Inventory) -> str:
    """A gpustack command on the same hosts."""
    source = f" -i {shlex.quote(str(inventory.source))}" if inventory.source else ""
    return f"gpustack {verb}{source}"


def after_look(found: Plan) -> str:
    """After `plan` and `verify`. Empty when there is nothing to do."""
    if found.converged:
        return ""
    # A hint may be prose: it stands beside its finding, and what is next is a command.
    refused = [
        "gpustack explain upgrade-needed" if mismatch.cure == "upgrade" else f"gpustack explain {state.step}/{check}"
        for state in found.drifted
        for check, mismatch in state.left
    ]
    fixable = any(mismatch.cure == "install" for state in found.drifted for mismatch in state.differences)
    if fixable and not (refused and is_stuck(found)):
        return command("install", found.inventory)
    if refused:
        return refused[0]
    for name in found.unreached:
        reach = found.snapshot.reach[name]
        typed = reach.hint if reach.reference.startswith("host-key-") else ""
        return typed or f"gpustack explain {reach.reference}"
    return command("plan -v", found.inventory)


def is_stuck(found: Plan) -> bool:
    """A person is needed on the control plane or on every host: install would get nowhere before."""
    places = {state.where for state, _ in found.refused}
    planes = {host.name for host in found.inventory.control_planes} | {CLUSTER}
    return bool(places & planes) or places >= {host.name for host in found.inventory.hosts} - set(found.unreached)


def has_gpus(found: Plan) -> bool:
    views = [View(found.snapshot, host.name) for host in found.inventory.hosts]
    return any(view.available(GPU_DEVICES) and of_host(view) for view in views)


def after_install(done: Outcome) -> str:
    found = done.verification.plan
    if found.converged and not found.inventory.in_cluster:
        return command("verify", found.inventory)
    if found.converged and has_gpus(found):
        return command("prove", found.inventory)
    if found.converged:
        return command("kubeconfig --out kubeconfig", found.inventory)
    if done.stopped == INTERRUPTED:
        return command("install", found.inventory)
    # What was just played and still differs is first looked at; playing it again blindly is no advice.
    if any(played.failures for played in done.played) or found.drifted:
        return command("plan -v", found.inventory)
    return after_look(found)

"""The next command to type, by how things stand."""

from gpustack.report.words import command
from gpustack.rollout.plan import Outcome, Plan


def after_look(found: Plan) -> str:
    """After `plan` and `verify`. Empty when there is nothing to do."""
    if found.converged:
        return ""
    if any(mismatch.cure == "install" for state in found.drifted for mismatch in state.mismatches):
        return command("install", found.inventory)
    for _, mismatch in found.refused:
        return mismatch.hint or f"gpustack explain {'upgrade' if mismatch.cure == 'upgrade' else 'operator'}-needed"
    for name in found.unreached:
        return found.snapshot.reach[name].hint or f"gpustack explain {found.snapshot.reach[name].reference}"
    return command("plan -v", found.inventory)


def after_install(done: Outcome) -> str:
    found = done.verification.plan
    if found.converged:
        return command("kubeconfig --out kubeconfig", found.inventory)
    if done.stopped == "interrupted":
        return command("install", found.inventory)
    # What was just played and still differs is first looked at; playing it again blindly is no advice.
    if any(played.failures for played in done.played) or found.drifted:
        return command("plan -v", found.inventory)
    return after_look(found)

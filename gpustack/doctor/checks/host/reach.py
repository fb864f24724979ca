"""Reach of a host. A host that does not answer is a root cause, and hides all other checks of it."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Reach
from gpustack.ask.view import View
from gpustack.doctor.check import check

SUDO = ("host-sudo-password", "host-no-sudo")


def require_reach(view: View) -> Reach:
    """Return the reach of a host. Raise FactUnavailable for a host that was not contacted."""
    reach = view.snapshot.reach.get(view.location)
    if reach is None:
        raise FactUnavailable(f"{view.location} was not contacted")
    return reach


@check("host-ssh-unreachable")
def ssh_unreachable(view: View) -> Result:
    """Check that the login works. A refusal after a successful login is another fault."""
    reach = require_reach(view)
    if reach.reached or reach.reference in SUDO:
        return build_ok_result("SSH login", "working")
    return Result("SSH login", "working", f"{reach.reason} ({reach.reference})")


@check("host-sudo-password")
def sudo_password(view: View) -> Result:
    """Check that sudo works. It fails too if sudo is not installed and the login is not root."""
    reach = require_reach(view)
    if reach.reference in SUDO:
        return Result("sudo", "working", f"{reach.reason} ({reach.reference})")
    if not reach.reached:
        raise FactUnavailable(view.snapshot.explain_missing_answer(view.location))
    return build_ok_result("sudo", "working")


@check("st-host-unmanaged")
def is_unmanaged(view: View) -> Result:
    """Check that the host responds to probes."""
    reach = require_reach(view)
    return Result("host", "reachable", reach.reason or "reachable", ok=bool(reach.reached))

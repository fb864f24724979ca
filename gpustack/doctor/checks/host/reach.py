"""Whether a host could be asked at all. What could not be is a root, and hides everything else of its host."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Reach
from gpustack.ask.view import View
from gpustack.doctor.check import check

SUDO = ("host-sudo-password", "host-no-sudo")


def reach(here: View) -> Reach:
    """Raises FactUnavailable for a host that nobody tried to reach."""
    found = here.snapshot.reach.get(here.where)
    if found is None:
        raise FactUnavailable(f"{here.where} was not contacted")
    return found


@check("host-ssh-unreachable")
def ssh_unreachable(here: View) -> Result:
    """A refusal after a successful login is another fault."""
    found = reach(here)
    if found.reached or found.reference in SUDO:
        return ok("SSH login", "working")
    return Result("SSH login", "working", f"{found.why} ({found.reference})")


@check("host-sudo-password")
def sudo_password(here: View) -> Result:
    """Also if sudo is not installed and the login is not root."""
    found = reach(here)
    if found.reference in SUDO:
        return Result("sudo", "working", f"{found.why} ({found.reference})")
    if not found.reached:
        raise FactUnavailable(here.snapshot.missing(here.where))
    return ok("sudo", "working")


@check("st-host-unmanaged")
def unmanaged(here: View) -> Result:
    """The host did not respond to any probe."""
    found = reach(here)
    return Result("host", "reachable", found.why or "reachable", ok=bool(found.reached))


CHECKS = (ssh_unreachable, sudo_password, unmanaged)

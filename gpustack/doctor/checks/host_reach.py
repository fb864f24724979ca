"""Whether a host could be asked at all. What could not be is a root, and hides everything else of its host."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Reach
from gpustack.ask.view import View
from gpustack.doctor.tells import Told, confirmed, refuted, tells

SUDO = ("host-sudo-password", "host-no-sudo")


def reach(here: View) -> Reach:
    """Raises FactUnavailable for a host that nobody tried to reach."""
    found = here.snapshot.reach.get(here.where)
    if found is None:
        raise FactUnavailable(f"{here.where} was not asked")
    return found


@tells("host-ssh-unreachable")
def ssh_unreachable(here: View) -> Told:
    """A login that works is refused further on: then it is another fault."""
    found = reach(here)
    if found.reached or found.reference in SUDO:
        return refuted("login", "works")
    return confirmed("login", "works", f"{found.why} ({found.reference})")


@tells("host-sudo-password")
def sudo_password(here: View) -> Told:
    """Also where there is no sudo and the login is not root."""
    found = reach(here)
    if found.reference in SUDO:
        return confirmed("becoming root", "works", f"{found.why} ({found.reference})")
    if not found.reached:
        raise FactUnavailable(here.snapshot.missing(here.where))
    return refuted("becoming root", "works")


@tells("st-host-unmanaged")
def unmanaged(here: View) -> Told:
    """Nothing of it was answered."""
    found = reach(here)
    return Told(not found.reached, "host", "reached", found.why or "reached")

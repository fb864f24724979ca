"""Reasons why a host could not be asked, and how long each part of asking may take, in seconds."""

import re

from gpustack.ask.message import shorten_message
from gpustack.ask.snapshot import Reach
from gpustack.command import NO_HINT, Hint, Prose
from gpustack.config.host import Host
from gpustack.errors import UnreachableError

CONNECT_LIMIT = 10
# For the next answer of a host; for all of them it is so many times as long.
HOST_LIMIT, HOST_MOST = 45, 7

# sudo's own words for a login that may not use it; they come without its name before them.
SUDO_DENIAL = re.compile(r"^.*(?:is not in the sudoers file|is not allowed to (?:run sudo|execute)).*", re.MULTILINE)


class HostRefused(UnreachableError):
    """Report that a host could not be asked; `reach` says why."""

    def __init__(self, reach: Reach) -> None:
        super().__init__(reach.reference, f"{reach.host}: {reach.reason}", "", reach.hint)
        self.reach = reach


def parse_sudo_refusal(host: Host, errors: str, rc: int) -> HostRefused | None:
    """Parse why sudo ran nothing, or return None. In any language its lines begin with `sudo:`, and its exit status is
    not 0."""
    reference = "host-sudo-password"
    hint: Hint = NO_HINT
    if "GPUSTACK-NO-SUDO" in errors:
        reference, reason = "host-no-sudo", f"there is no {host.become_exe} on it and the login is not root"
        hint = Prose("ssh as root to {}, or install {} there", host.name, host.become_exe)
    elif "GPUSTACK-SUDO-ASKS-MORE" in errors:
        reason = f"{host.become_exe} asks for more than a password, and nothing was run"
        hint = Prose("let sudo ask this login for the password alone, or for nothing (NOPASSWD)")
    elif rc > 0 and (denial := SUDO_DENIAL.search(errors)):
        reason = shorten_message(denial[0].strip())
        hint = Prose("let this login use {} (visudo), or log in as root", host.become_exe)
    elif rc > 0 and "sudo:" in errors:
        reason = next(line for line in errors.splitlines() if "sudo:" in line).strip()
        hint = (
            Prose("the password was wrong, or it asks for more than that; try again with -K")
            if host.become_password
            else Prose("add -K and type the password, or allow sudo without one")
        )
    else:
        return None
    return HostRefused(Reach(host.name, reference, reason, hint))

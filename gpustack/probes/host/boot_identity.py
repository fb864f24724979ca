"""The boot of a host: its identity, since when, and whether packages ask for another one."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import FLAGS, parse_integer


@dataclass(frozen=True)
class BootIdentity:
    """Describe a boot. `identity` differs from that of each other boot, `booted_at` is by the clock of the host, and
    `reboot_required` tells that packages left /run/reboot-required."""

    identity: str
    booted_at: datetime
    reboot_required: bool


def parse_boot_identity(answer: Answer) -> BootIdentity:
    """Parse the boot. Raise ValueError or KeyError for an answer of another shape."""
    identity, seconds, reboot_flag = answer.stdout.split()
    return BootIdentity(identity, datetime.fromtimestamp(parse_integer(seconds), UTC), FLAGS[reboot_flag])


BOOT_IDENTITY = Probe(
    "host.boot-identity",
    Lines(read_script(__file__, "boot_identity.sh")),
    parse_boot_identity,
    manual_command="cat /proc/sys/kernel/random/boot_id; uptime --since; ls /run/reboot-required",
)

"""Errors, OOM kills and denials in the kernel's log of the last day.

An error is a message with the priority err or a graver one (syslog(3)). The kernel describes a kill in the fields of
`oom-kill:` (mm/oom_kill.c), AppArmor in `apparmor="DENIED"` (security/apparmor/audit.c), SELinux in `avc:  denied`
(security/selinux/avc.c), and seccomp in an audit record of type 1326 (include/uapi/linux/audit.h).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.files.json_text import load_json
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import parse_sections

MILLION = 1_000_000


@dataclass(frozen=True)
class KernelMessage:
    """Hold a message of the kernel: its text, when the journal received it, by the clock of the host, and how many
    seconds after the boot. `priority` is that of syslog, 0 for the gravest, None where it has none."""

    text: str
    received_at: datetime
    uptime: int
    priority: int | None


@dataclass(frozen=True)
class KernelMessages:
    """Hold the messages of a host by their kind, in the order of the log."""

    errors: tuple[KernelMessage, ...]
    kills: tuple[KernelMessage, ...]
    denials: tuple[KernelMessage, ...]


def parse_messages(answer: Answer) -> KernelMessages:
    """Parse the messages. Raise ValueError, KeyError or TypeError where the answer has another shape."""
    errors, kills, denials = parse_sections(answer.stdout, "errors", "kills", "denials")
    return KernelMessages(*(tuple(map(parse_message, lines)) for lines in (errors, kills, denials)))


def parse_message(line: str) -> KernelMessage:
    entry = load_json(line)
    return KernelMessage(
        shorten_message(decode_text(entry["MESSAGE"])),
        datetime.fromtimestamp(parse_integer(entry["__REALTIME_TIMESTAMP"]) // MILLION, UTC),
        parse_integer(entry["__MONOTONIC_TIMESTAMP"]) // MILLION,
        parse_integer(entry["PRIORITY"]) if "PRIORITY" in entry else None,
    )


def decode_text(text: Any) -> str:
    """Decode a field of the journal, which is a list of bytes where it is not UTF-8 (systemd.journal-fields(7))."""
    return text if isinstance(text, str) else bytes(text).decode(errors="replace")


MESSAGES = Probe(
    "kernel.messages",
    Lines(read_script(__file__, "messages.sh")),
    parse_messages,
    manual_command="journalctl -k -b --since -24h",
)

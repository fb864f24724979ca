"""Errors that the kernel logged, programs that it killed for want of memory, and what AppArmor, SELinux or seccomp
denied, within the last day.

The messages say nothing of what suffers. The fields that tell them apart are the priority, and the words before `=`.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.probes.gpu.logs import XID
from gpustack.probes.host.disk import DISK
from gpustack.probes.host.units import PLATFORM_UNITS
from gpustack.probes.kernel.messages import MESSAGES, KernelMessage

RECENT_TIME = timedelta(hours=1)
USUAL_BOOT = 120
"""Seconds after the boot within which drivers report what the firmware has otherwise."""
CRITICAL = 2
"""The priority crit of syslog(3), and the number of what is graver is smaller."""
MAX_GROUPS = 3
"""The most groups of errors of a host that are reported, the newest first."""
NUMBER = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b", re.IGNORECASE)
PROCESS = re.compile(r"Killed process (\d+) ")
FIELD = re.compile(r'\b(\w+)=("[^"]*"|[^ ,]+)')
HOST_LIMIT = "CONSTRAINT_NONE"
"""The kernel's word for a kill because the host has no memory left, and not a cgroup (mm/oom_kill.c)."""
PROGRAMS = PLATFORM_UNITS | {"containerd-shim", "runc", "nvidia-container-cli", "nvidia-ctk", "kube-apiserver", "etcd"}


def read_fields(text: str) -> dict[str, str]:
    """Read the fields of a message, `name=value` or `name="value"`."""
    return {name: value.strip('"') for name, value in FIELD.findall(text)}


def observe_errors(view: View) -> Iterator[AbnormalState]:
    """List the errors of the kernel, alike ones as one. Those of disks, Xids and killed programs are other states, and
    a boot has some on any host."""
    disk_errors = view[DISK].errors if view.has_fact(DISK) else ()
    groups: dict[str, list[KernelMessage]] = {}
    for message in view[MESSAGES].errors:
        is_known = message.text in disk_errors or XID.search(message.text) or PROCESS.search(message.text)
        if not is_known and (message.uptime > USUAL_BOOT or is_critical(message)):
            groups.setdefault(NUMBER.sub("N", message.text), []).append(message)
    newest_groups = sorted(groups.items(), key=lambda group: group[1][-1].received_at, reverse=True)[:MAX_GROUPS]
    for topic, messages in newest_groups:
        is_grave = any(is_critical(message) and is_recent(view, message) for message in messages)
        severity: Severity = "risk" if is_grave else "note"
        yield build_state(view, "kernel-error", severity, f"kernel of {view.location}", messages, topic)


def is_critical(message: KernelMessage) -> bool:
    return message.priority is not None and message.priority <= CRITICAL


def is_recent(view: View, message: KernelMessage) -> bool:
    return abs(view.started_at - message.received_at) < RECENT_TIME


def observe_kills(view: View) -> Iterator[AbnormalState]:
    """List the programs that the kernel killed, by their name. The sentence of the kill follows its fields."""
    messages = view[MESSAGES]
    sentences = {match[1]: error for error in messages.errors if (match := PROCESS.search(error.text))}
    kills: dict[tuple[str, str], list[KernelMessage]] = {}
    for kill in messages.kills:
        fields = read_fields(kill.text)
        key = fields.get("task", ""), fields.get("constraint", "")
        kills.setdefault(key, []).append(sentences.get(fields.get("pid", ""), kill))
    for (program, constraint), sentences_of_program in kills.items():
        is_ours = program in PROGRAMS or constraint == HOST_LIMIT
        is_grave = is_ours and is_recent(view, sentences_of_program[-1])
        severity: Severity = "risk" if is_grave else "note"
        subject = f"program {program} of {view.location}"
        yield build_state(view, "program-killed", severity, subject, sentences_of_program, f"{program} {constraint}")


def observe_denials(view: View) -> Iterator[AbnormalState]:
    """List what a program was denied, by program and profile: a risk for programs of the platform."""
    denials: dict[tuple[str, str], list[KernelMessage]] = {}
    for denial in view[MESSAGES].denials:
        fields = read_fields(denial.text)
        denials.setdefault((fields.get("comm", ""), fields.get("profile", "")), []).append(denial)
    for (program, profile), messages in denials.items():
        is_grave = program in PROGRAMS and is_recent(view, messages[-1])
        severity: Severity = "risk" if is_grave else "note"
        subject = f"program {program} of {view.location}" if program else f"programs of {view.location}"
        yield build_state(view, "access-denied", severity, subject, messages, f"{program} {profile}")


def build_state(
    view: View, kind: Kind, severity: Severity, subject: str, messages: Iterable[KernelMessage], topic: str
) -> AbnormalState:
    """Build the state of messages of one kind: the newest, since when, and how many there are."""
    first_message, *later_messages = messages
    newest_message = later_messages[-1] if later_messages else first_message
    command = Command("journalctl", "-k", "-b", "--since", "-24h")
    count = 1 + len(later_messages)
    return AbnormalState(
        kind,
        severity,
        (view.location,),
        (subject,),
        newest_message.text,
        command,
        first_message.received_at,
        count,
        topic=topic,
    )


OBSERVERS = (
    Observer("kernel-errors", "Errors of the kernel", observe_errors, (MESSAGES, DISK), scope="host"),
    Observer("memory-kills", "Programs that the kernel killed", observe_kills, (MESSAGES,), scope="host"),
    Observer("denials", "Denials of the kernel", observe_denials, (MESSAGES,), scope="host"),
)

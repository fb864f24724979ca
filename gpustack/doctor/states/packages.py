"""Packages that are half installed, locks of apt, and sources of packages that a host does not reach or trust."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.events import format_count
from gpustack.probes.kubelet.join_endpoint import SOURCE
from gpustack.probes.packages.dpkg import DPKG, SOURCES


def observe_packages(view: View) -> Iterator[AbnormalState]:
    """Observe locks, or packages that are unfinished although nobody holds a lock: while dpkg runs some always are."""
    dpkg = view[DPKG]
    if dpkg is None:
        return
    for holder in dpkg.holders:
        message = f"held by {holder.process} (process {holder.pid}) for {holder.age} s"
        command = Command("ps", "-p", str(holder.pid), "-o", "args")
        yield build_state(view, "packages-locked", "note", holder.file, message, command)
    if dpkg.holders or not (dpkg.updates or dpkg.unfinished_packages):
        return
    names = ", ".join(dpkg.unfinished_packages)
    message = f"not completely installed: {names}" if names else ""
    message = message or f"dpkg ended before it wrote down {format_count(dpkg.updates, 'change')}"
    yield build_state(view, "package-unfinished", "risk", "packages", message, Command("dpkg", "--audit"))


def observe_source(view: View) -> Iterator[AbnormalState]:
    """Observe a source of packages to which no connection is made. Nothing suffers until something is fetched, and a
    mirror that refuses is stopped when nobody needs it."""
    attempt = view[SOURCE]
    if not attempt.connected and not attempt.refused:
        message = attempt.reason or f"exit status {attempt.curl_rc} of curl"
        command = Command("curl", "-v", attempt.place)
        yield build_state(view, "source-unreachable", "risk", attempt.place, message, command)


def observe_keys(view: View) -> Iterator[AbnormalState]:
    """Observe keyrings that sources of apt name and that have no valid key, so that apt refuses these sources."""
    sources = view[SOURCES]
    for key in sorted({source.key for source in sources.sources}):
        ring = sources.keyrings.get(key)
        if ring is None or ring.fingerprints is None:
            continue
        is_over = bool(ring.fingerprints and ring.expires_at and ring.expires_at < view.started_at)
        if ring.fingerprints and not is_over:
            continue
        trouble = f"its key ended on {ring.expires_at:%Y-%m-%d}" if is_over else "it has no key"
        users = dict.fromkeys(source.uri for source in sources.sources if source.key == key)
        message = f"{trouble}, so that apt refuses {', '.join(users)}"
        command = Command("gpg", "--show-keys", key)
        yield build_state(view, "source-untrusted", "risk", f"keyring {key}", message, command)


def build_state(
    view: View, kind: Kind, severity: Severity, subject: str, message: str, command: Command
) -> AbnormalState:
    return AbnormalState(kind, severity, (view.location,), (subject,), message, command)


OBSERVERS = (
    Observer("packages", "Packages of hosts", observe_packages, (DPKG,), scope="host", yields=True),
    Observer("keyrings", "Keyrings of apt", observe_keys, (SOURCES,), scope="host", yields=True),
    Observer("sources", "Sources of packages", observe_source, (SOURCE,), scope="host", yields=True),
)

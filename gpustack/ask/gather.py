"""Asking all hosts at once: one connection and one exec per host, answers as a stream, and a deadline per host."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.pool import ThreadPool
from types import MappingProxyType
from typing import Any, Protocol

from gpustack.ask.answers import parse_answers
from gpustack.ask.api import NO_VARIABLES
from gpustack.ask.probe import Answer, Probe
from gpustack.ask.script import build_last_line, render_script
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.ask.transport.execute import PeerCallback, run_script
from gpustack.ask.transport.refusal import HOST_LIMIT, HostRefused
from gpustack.ask.transport.ssh_options import build_login_command
from gpustack.ask.variables import build_probe_variables
from gpustack.command import name_inventory
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.errors import UnreachableError
from gpustack.events import Event, Reporter, format_count, ignore_event

MAX_THREADS = 32


class Ask(Protocol):
    """Run a script as root on a host, as `run_script` does."""

    def __call__(self, host: Host, script: str, *, last: str, peer_callback: PeerCallback) -> Iterator[str]:
        """Yield the lines of the output, which ends with the line `last`, then those of the error output.

        `peer_callback` gets the address at the other end of an SSH connection. Raise HostRefused where the host cannot
        be asked.
        """


def gather(
    inventory: Inventory,
    probes: Sequence[Probe[Any]],
    *,
    hosts: Sequence[str] = (),
    variables: Mapping[str, str] = NO_VARIABLES,
    ask: Ask = run_script,
    report: Reporter = ignore_event,
) -> Snapshot:
    """Ask the hosts, all or those named in `hosts`, and return their answers. Scripts may read `variables` beside those
    of all probes.

    Probes of the cluster are asked of every control plane among them; the answers of the first one reached count.
    """
    start_time, started_at = time.monotonic(), datetime.now(UTC)
    asked_hosts = [host for host in inventory.hosts if not hosts or host.name in hosts]
    unique_probes = list({probe.id: probe for probe in probes}.values())
    report(Event("ask", "", f"{format_count(len(unique_probes), 'probe')} on {format_count(len(asked_hosts), 'host')}"))
    # Its threads are daemons: on Ctrl-C nobody waits for a host that is silent.
    with ThreadPool(min(MAX_THREADS, max(1, len(asked_hosts)))) as pool:
        results = pool.map(
            lambda host: ask_host(inventory, host, unique_probes, ask, report, variables), asked_hosts, chunksize=1
        )
    answers: dict[tuple[str, str], Answer] = {}
    for _, host_answers in reversed(results):
        answers.update(host_answers)
    reach = MappingProxyType(
        {host.name: host_reach for host, (host_reach, _) in zip(asked_hosts, results, strict=True)}
    )
    return Snapshot(started_at, inventory, reach, MappingProxyType(answers), time.monotonic() - start_time)


def require_reach(snapshot: Snapshot, names: Sequence[str] = ()) -> None:
    """Raise UnreachableError where none of these hosts was reached, or of all hosts without names."""
    reaches = [reach for name, reach in snapshot.reach.items() if not names or name in names]
    if not any(reach.reached for reach in reaches):
        reference = reaches[0].reference if len({reach.reference for reach in reaches}) == 1 else "no-host-reached"
        reason = "\n".join(f"{reach.host}: {reach.reason}" for reach in reaches)
        raise UnreachableError(reference, "No host could be reached; nothing was changed.", reason, reaches[0].hint)


def ask_host(
    inventory: Inventory,
    host: Host,
    probes: Sequence[Probe[Any]],
    ask: Ask,
    report: Reporter,
    variables: Mapping[str, str],
) -> tuple[Reach, Mapping[tuple[str, str], Answer]]:
    start_time = time.monotonic()
    host_probes = [probe for probe in probes if probe.scope == "host" or host.control_plane]
    marker = secrets.token_hex(16)
    script = render_script(host_probes, marker, {**build_probe_variables(inventory, host), **variables})
    answers: list[Answer] = []
    peers: list[str] = []
    try:
        lines = ask(host, script, last=build_last_line(marker), peer_callback=peers.append)
        answers.extend(parse_answers(lines, marker, host.name, {probe.id: probe for probe in host_probes}))
    except HostRefused as refusal:
        report(Event("failed", host.name, refusal.reach.reason, time.monotonic() - start_time))
        return replace(refusal.reach, hint=name_inventory(refusal.reach.hint, inventory.name)), {}
    answered_ids, seconds = {answer.probe for answer in answers}, time.monotonic() - start_time
    if host_probes and not answered_ids:
        return refuse_silent_host(host, seconds, report)
    late_reason = f"{host.name} answered only {len(answered_ids)} of {len(host_probes)} probes within {seconds:.0f} s"
    answers += [
        Answer(probe.id, "@cluster" if probe.scope == "cluster" else host.name, -1, "", missing_reason=late_reason)
        for probe in host_probes
        if probe.id not in answered_ids
    ]
    report(Event("asked", host.name, f"{len(answered_ids)} answers", seconds))
    return Reach(host.name, address="".join(peers)), index_answers(answers)


def refuse_silent_host(host: Host, seconds: float, report: Reporter) -> tuple[Reach, Mapping[tuple[str, str], Answer]]:
    """Refuse a host that accepts the login and answers no question: the other hosts are judged without it."""
    limit = HOST_LIMIT * host.timeout_factor
    period = f"within {limit} s" if seconds >= limit else "before it ended"
    reason = f"the login works, and its shell gave no answer {period}"
    report(Event("failed", host.name, reason, seconds))
    return Reach(host.name, "host-no-shell", reason, build_login_command(host)), {}

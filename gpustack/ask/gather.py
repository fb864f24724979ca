"""Asks all hosts at once: one connection and one exec per host, answers streamed, a deadline per host."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.pool import ThreadPool
from types import MappingProxyType
from typing import Any

from gpustack.ask.answers import parse
from gpustack.ask.probe import Answer, Probe
from gpustack.ask.script import build_last_line, render
from gpustack.ask.snapshot import Reach, Snapshot, keyed
from gpustack.ask.transport.execute import run
from gpustack.ask.transport.refusal import HOST_LIMIT, HostRefused
from gpustack.ask.transport.ssh_options import build_login_command
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resolved import exported
from gpustack.events import Event, Reporter, count, silent

AT_ONCE = 32

Ask = Callable[..., Iterator[str]]
"""`ask(host, script, last=…, reached=…)` runs a script as root on a host and yields the lines of its output, which ends
with the line `last`, then those of its error output. `reached` gets the address of an SSH connection. Raises
HostRefused."""


def gather(
    inventory: Inventory,
    probes: Sequence[Probe[Any]],
    *,
    hosts: Sequence[str] = (),
    ask: Ask = run,
    report: Reporter = silent,
) -> Snapshot:
    """`hosts` limits who is asked; cluster probes go to every control plane asked, and the first one reached counts."""
    started, taken = time.monotonic(), datetime.now(UTC)
    wanted = [host for host in inventory.hosts if not hosts or host.name in hosts]
    unique = list({probe.id: probe for probe in probes}.values())
    report(Event("ask", "", f"{count(len(unique), 'question')} to {count(len(wanted), 'host')}"))
    # Its threads are daemons: on Ctrl-C nobody waits for a host that is silent.
    with ThreadPool(min(AT_ONCE, max(1, len(wanted)))) as pool:
        results = pool.map(lambda host: ask_host(inventory, host, unique, ask, report), wanted, chunksize=1)
    answers: dict[tuple[str, str], Answer] = {}
    for _, found in reversed(results):
        answers.update(found)
    reach = MappingProxyType({host.name: reached for host, (reached, _) in zip(wanted, results, strict=True)})
    return Snapshot(taken, inventory, reach, MappingProxyType(answers), time.monotonic() - started)


def ask_host(
    inventory: Inventory, host: Host, probes: Sequence[Probe[Any]], ask: Ask, report: Reporter
) -> tuple[Reach, Mapping[tuple[str, str], Answer]]:
    started = time.monotonic()
    mine = [probe for probe in probes if probe.location == "host" or host.control_plane]
    marker = secrets.token_hex(16)
    script = render(mine, marker, exported(inventory, host))
    found: list[Answer] = []
    peers: list[str] = []
    try:
        lines = ask(host, script, last=build_last_line(marker), reached=peers.append)
        found.extend(parse(lines, marker, host.name, {probe.id: probe for probe in mine}))
    except HostRefused as refused:
        report(Event("failed", host.name, refused.reach.why, time.monotonic() - started))
        return name_inventory(refused.reach, inventory), {}
    came, seconds = {answer.probe for answer in found}, time.monotonic() - started
    if mine and not came:
        return refuse_silent_host(host, seconds, report)
    late = f"{host.name} answered only {len(came)} of {len(mine)} questions within {seconds:.0f} s"
    found += [
        Answer(probe.id, "@cluster" if probe.location == "cluster" else host.name, -1, "", lost=late)
        for probe in mine
        if probe.id not in came
    ]
    report(Event("asked", host.name, f"{len(came)} answers", seconds))
    return Reach(host.name, address="".join(peers)), keyed(found)


def refuse_silent_host(host: Host, seconds: float, report: Reporter) -> tuple[Reach, Mapping[tuple[str, str], Answer]]:
    """One that lets us in and answers nothing at all was not reached: the others are compared without it."""
    limit = HOST_LIMIT * host.timeout_factor
    when = f"within {limit} s" if seconds >= limit else "before it ended"
    why = f"the login works, and its shell gave no answer {when}"
    report(Event("failed", host.name, why, seconds))
    return Reach(host.name, "host-no-shell", why, build_login_command(host)), {}


def name_inventory(reach: Reach, inventory: Inventory) -> Reach:
    """Return the same with the inventory in the command of gpustack that it advises."""
    if not isinstance(reach.hint, Command) or reach.hint.words[:2] != ("gpustack", "trust") or not inventory.source:
        return reach
    source = ("-i", str(inventory.source))
    return replace(
        reach, hint=Command(*reach.hint.words, *source, note="shows its key, and adds it after a confirmation")
    )

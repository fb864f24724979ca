"""Runs dcgmi for several engines at once, each within a limit.

dcgmi ends with DCGM's return code, which is negative: a shell sees 256 more of it, and 254 of a command line that dcgmi
does not take (DCGM 4.6.0, dcgmi/main_dcgmi.cpp; dcgmlib/dcgm_structs.h, dcgmReturn_enum). Never seen live.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool

from gpustack.ask.answers import parse
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.script import build_last_line, render
from gpustack.ask.transport.execute import run
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.gpus.engines.engine import Engine

AT_ONCE = 8
"""A control plane's sshd lets ten logins be under way (sshd_config, MaxStartups)."""
LIMIT = 30
"""Seconds for what an engine answers at once."""
MARGIN = 15
"""Seconds that our connection stays beyond the limit on the host."""
ENDED = (124, 137)
NVVS_ERROR, NVVS_ISOLATE_ERROR = -30, -51
BAD_COMMAND_LINE = -2

Run = Callable[..., Iterable[str]]
"""`run(host, script, limit=…, last=…)`, as gpustack/ask/transport/execute.py has it."""


@dataclass(frozen=True)
class Reply:
    """Of one engine: what dcgmi printed; `status` is DCGM's return code where it gave one, else the shell's; `lost` is
    why no answer came."""

    node: str
    command: str
    status: int = 0
    out: str = ""
    err: str = ""
    lost: str = ""

    @property
    def fault(self) -> str:
        """Why it is no answer; empty when it is."""
        if self.lost or not self.status:
            return self.lost
        lines = [line.strip() for line in f"{self.out}\n{self.err}".splitlines()]
        shown = [line for line in lines if line.startswith(("Error", "error", "ERROR"))] or [*filter(None, lines)]
        who = "DCGM" if self.status < 0 else "the command"
        return f"{who} returned {self.status}{f': {shown[0][:300]}' if shown else ''}"


def call(engines: Sequence[Engine], words: Sequence[str], limit: float = LIMIT, execute: Run = run) -> list[Reply]:
    """The same words to all, side by side."""
    return call_each({engine: engine.command(words) for engine in engines}, limit, execute)


def call_each(
    commands: Mapping[Engine, str],
    limit: float = LIMIT,
    execute: Run = run,
    waiting: Callable[[], object] = lambda: None,
) -> list[Reply]:
    """`waiting` is called every second until all have answered."""
    with ThreadPool(min(AT_ONCE, max(1, len(commands)))) as pool:
        pending = pool.map_async(
            lambda one: reply(one[0].node, one[0].via, one[1], limit, execute), commands.items(), 1
        )
        while not pending.ready():
            pending.wait(1)
            waiting()
        return pending.get()


def reply(node: str, via: Host, command: str, limit: float = LIMIT, execute: Run = run) -> Reply:
    """Of one command on a host; it ends there at the limit."""
    probe = Probe("dcgm.call", Shell(command), lambda answer: answer.out, limit=round(limit))
    marker = secrets.token_hex(16)
    script = render([probe], marker, {"TIMEOUT_FACTOR": str(via.timeout_factor)})
    try:
        lines = execute(via, script, limit=limit + MARGIN, last=build_last_line(marker))
        found = next(iter(parse(lines, marker, via.name, {probe.id: probe})), None)
    except HostRefused as refused:
        return Reply(node, command, lost=refused.reach.why)
    if found is None or found.lost or found.cut or found.rc in ENDED:
        cut = "the answer was longer than what is kept" if found and found.cut else f"no answer within {limit:.0f} s"
        return Reply(node, command, lost=found.lost or cut if found else cut)
    return Reply(node, command, as_return(found), found.out, found.err)


def as_return(answer: Answer) -> int:
    """DCGM's own codes are the upper half of what a shell can see; a signal is 128 and its number."""
    return answer.rc - 256 if answer.rc >= 256 - 90 else answer.rc

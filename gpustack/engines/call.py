"""Calls of dcgmi on several engines at once, each within a limit.

dcgmi ends with DCGM's return code, which is negative: a shell sees 256 more of it, and 254 of a command line that dcgmi
does not take (DCGM 4.6.0, dcgmi/main_dcgmi.cpp; dcgmlib/dcgm_structs.h, dcgmReturn_enum). It was never seen live.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool

from gpustack.ask.answers import parse_answers
from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.ask.script import build_last_line, render_script
from gpustack.ask.transport.execute import run_script
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.engines.engine import Engine

PARALLEL_CALLS = 8
"""A control plane's sshd accepts ten logins at a time (sshd_config, MaxStartups)."""
LIMIT = 30
"""Seconds for commands that an engine answers at once."""
MARGIN = 15
"""Seconds for which the connection stays open beyond the limit on the host."""
TIMEOUT_STATUSES = (124, 137)
NVVS_ERROR, NVVS_ISOLATE_ERROR = -30, -51

Run = Callable[..., Iterable[str]]
"""`run(host, script, limit=…, last=…)` has the parameters of gpustack/ask/transport/execute.py."""


@dataclass(frozen=True)
class Reply:
    """Hold the output of dcgmi on one engine. `status` is DCGM's return code where it gave one, else the shell's;
    `missing_reason` says why no answer came."""

    node: str
    command: str
    status: int = 0
    stdout: str = ""
    stderr: str = ""
    missing_reason: str = ""

    @property
    def fault(self) -> str:
        """Say why the reply is no answer; the text is empty when it is one."""
        if self.missing_reason or not self.status:
            return self.missing_reason
        lines = [line.strip() for line in f"{self.stdout}\n{self.stderr}".splitlines()]
        error = next((line for line in lines if line.startswith(("Error", "error", "ERROR"))), "")
        # Programs such as nvidia-smi say in the first line that something failed, and in the next ones why.
        words = error or " ".join(filter(None, lines))
        subject = "DCGM" if self.status < 0 else "the command"
        return f"{subject} returned {self.status}{f': {shorten_message(words)}' if words else ''}"


def call_engines(
    engines: Sequence[Engine], words: Sequence[str], limit: float = LIMIT, execute: Run = run_script
) -> list[Reply]:
    """Call all engines with the same words, side by side."""
    return call_each({engine: engine.build_command(words) for engine in engines}, limit, execute)


def call_each(
    commands: Mapping[Engine, str],
    limit: float = LIMIT,
    execute: Run = run_script,
    waiting: Callable[[], object] = lambda: None,
) -> list[Reply]:
    """Call each engine with its command. `waiting` is called every second until all have answered."""
    with ThreadPool(min(PARALLEL_CALLS, max(1, len(commands)))) as pool:
        pending = pool.map_async(
            lambda entry: run_command(entry[0].node, entry[0].via, entry[1], limit, execute), commands.items(), 1
        )
        while not pending.ready():
            pending.wait(1)
            waiting()
        return pending.get()


def run_command(node: str, via: Host, command: str, limit: float = LIMIT, execute: Run = run_script) -> Reply:
    """Run a command on a host, where it ends at the limit."""
    probe = Probe("dcgm.call", Shell(command), lambda answer: answer.stdout, limit=round(limit))
    marker = secrets.token_hex(16)
    script = render_script([probe], marker, {"TIMEOUT_FACTOR": str(via.timeout_factor)})
    try:
        lines = execute(via, script, limit=limit + MARGIN, last=build_last_line(marker))
        result = next(iter(parse_answers(lines, marker, via.name, {probe.id: probe})), None)
    except HostRefused as refused:
        return Reply(node, command, missing_reason=refused.reach.reason)
    if result is None or result.missing_reason or result.cut or result.rc in TIMEOUT_STATUSES:
        cut = "the answer was longer than what is kept" if result and result.cut else f"no answer within {limit:.0f} s"
        return Reply(node, command, missing_reason=result.missing_reason or cut if result else cut)
    return Reply(node, command, decode_status(result), result.stdout, result.stderr)


def decode_status(answer: Answer) -> int:
    """Decode an exit status: DCGM's own codes are the upper half of the values that a shell can see; a signal is 128
    and its number."""
    return answer.rc - 256 if answer.rc >= 256 - 90 else answer.rc

"""Judges the checks of very many hosts in two processes. One goes through them from the front, one from the back, until
they meet: neighbours read the same answers, so that hardly one is parsed twice.

The second process is a fork: it has the snapshot without a copy, and ends with its work.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from gpustack.ask.alike import Heard, everywhere, remembered
from gpustack.ask.probe import Probe
from gpustack.ask.snapshot import Snapshot

MANY = 500
"""Hosts from which on a second process pays."""

Job = tuple[Callable[[Any], Any], tuple[str, ...]]
"""A check and the places where it is to be judged."""
Packed = tuple[list[tuple[Any, tuple[Any, ...]]], list[int]]
"""What was said and which probes were read for it, each once, and which of these each place has."""


def ahead(jobs: Iterable[Job], snapshot: Snapshot, probes: Iterable[Probe[Any]]) -> None:
    """What is judged here `everywhere` need not judge again. Of a few hosts, or with one core, nothing is. `probes` are
    all that the checks read."""
    every = [job for job in jobs if job[1]]
    if not any(len(wheres) >= MANY for _, wheres in every) or len(os.sched_getaffinity(0)) < 2:
        return
    context = get_context("fork")
    ear, mouth = context.Pipe(duplex=False)
    left = tokens(len(every))
    second = context.Process(target=second_process, args=(every, left, snapshot, mouth), daemon=True)
    try:
        second.start()
        mouth.close()
        for check, wheres in turns(every[::-1], left):
            remembered(snapshot)[check] = everywhere(check, snapshot, wheres)
        named = {probe.id: probe for probe in probes}
        for (check, wheres), packed in zip(every, ear.recv(), strict=False):
            remembered(snapshot)[check] = unpacked(packed, wheres, named)
    except (OSError, EOFError):
        # There was no second one, or it did not come to its end, for want of memory perhaps: what it should have judged
        # is judged when it is asked for.
        pass
    finally:
        if second.pid:
            second.kill()
            second.join()
        for end in (ear, mouth):
            end.close()
        os.close(left)


def tokens(count: int) -> int:
    """The end of a pipe that so many bytes can be read from. No lock, that a process could die with."""
    end, begin = os.pipe()
    os.write(begin, bytes(count))
    os.close(begin)
    return end


def turns(jobs: Sequence[Job], left: int) -> Iterator[Job]:
    """One job after the other, as long as the two processes together have not taken all."""
    for job in jobs:
        if not os.read(left, 1):
            return
        yield job


def second_process(jobs: Sequence[Job], left: int, snapshot: Snapshot, mouth: "Connection[Any, Any]") -> None:
    # Ctrl-C is the first one's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    try:
        mouth.send([packed(everywhere(check, snapshot, wheres)) for check, wheres in turns(jobs, left)])
    except Exception:  # noqa: BLE001 - the first process judges the same, and there it is seen
        os._exit(1)


def packed(rows: Mapping[str, Heard]) -> Packed:
    """Probes go by their ids."""
    kinds: dict[tuple[Any, tuple[Any, ...]], int] = {}
    numbers: dict[int, int] = {}
    for heard in rows.values():
        if id(heard) not in numbers:
            read = tuple((one[0].id, one[1]) if isinstance(one, tuple) else one.id for one in heard.read)
            numbers[id(heard)] = kinds.setdefault((heard.said, read), len(kinds))
    return list(kinds), [numbers[id(heard)] for heard in rows.values()]


def unpacked(said: Packed, wheres: Sequence[str], named: Mapping[str, Probe[Any]]) -> dict[str, Heard]:
    def probe(one: Any) -> Any:
        return named[one] if isinstance(one, str) else (named[one[0]], one[1])

    kinds, numbers = said
    heards = [Heard(words, tuple(map(probe, read))) for words, read in kinds]
    return {where: heards[number] for where, number in zip(wheres, numbers, strict=True)}

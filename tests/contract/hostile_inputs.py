"""Inputs that make a backtracking expression slow, made of the expression's own characters.

At each repeat of an expression the text that leads to it is followed by thousands of what the repeat takes, alone, in
pairs with what stands next to it, and with all that leads to it again; then by a character that lets the match fail.
"""

import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from re import _constants as op  # type: ignore[attr-defined]  # isort: skip
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip

REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
PRINTABLE = "\t\n" + "".join(map(chr, range(32, 127)))
# One of each kind that expressions tell apart.
TELLING = "a0Zf \t\n\"'\\:=-_./,@[{(|&x"
MOST_WAYS = 12
"""Leads to one place, by the alternatives before it."""
Node = tuple[Any, Any]


def list_matching(items: list[Node], negated: bool, flags: int) -> str:
    """Return the printable characters of a class, the telling ones first."""
    rule = re.compile(format_class(items, negated), flags & re.IGNORECASE)
    return "".join(sorted(filter(rule.match, PRINTABLE), key=lambda char: (char not in TELLING, char)))


def format_class(items: list[Node], negated: bool) -> str:
    """Write a class as it is in an expression."""
    parts = []
    for kind, value in items:
        if kind is op.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is op.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        elif kind is op.CATEGORY:
            name = str(value).rpartition("_")[2].lower()[0]
            parts.append(f"\\{name.upper() if 'NOT' in str(value) else name}")
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def list_characters(node: Node, flags: int) -> str:
    """Return what a node of one character takes; empty for every other node."""
    kind, value = node
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return list_matching([(op.LITERAL, value)], negated=True, flags=flags)
    if kind is op.ANY:
        return "a \"':\\0"
    if kind is op.IN:
        is_negated = value[0][0] is op.NEGATE
        return list_matching(value[1:] if is_negated else value, is_negated, flags)
    return ""


def list_samples(node: Node, flags: int, groups: dict[int, str]) -> list[str]:
    """Return some texts that a node takes, the shortest of each alternative."""
    kind, value = node
    if single := list_characters(node, flags):
        return list(single[:3])
    if kind in REPEATS:
        low, high, body = value
        inner = list_leads(list(body), flags, groups)
        if low:
            return [text * low for text in inner]
        return ["", *inner[:4]] if high else [""]
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in list_leads(list(branch), flags, groups)[:3]]
    if kind is op.SUBPATTERN:
        texts = list_leads(list(value[3]), flags | value[1], groups)
        groups[value[0]] = texts[0] if texts else ""
        return texts
    if kind is op.ATOMIC_GROUP:
        return list_leads(list(value), flags, groups)
    if kind is op.GROUPREF:
        return [groups.get(value, "")]
    return [""]


def list_leads(nodes: list[Node], flags: int, groups: dict[int, str]) -> list[str]:
    """Return texts that a row of nodes takes."""
    leads = [""]
    for node in nodes:
        parts = list_samples(node, flags, groups) or [""]
        longest = max(len(leads), len(parts))
        if len(leads) * len(parts) <= MOST_WAYS:
            leads = [lead + part for lead in leads for part in parts]
        else:
            leads = [leads[index % len(leads)] + parts[index % len(parts)] for index in range(longest)]
    return list(dict.fromkeys(leads))[:MOST_WAYS]


def find_repeats(nodes: list[Node], before: list[str], flags: int, groups: dict[int, str]) -> Iterator[tuple[str, str]]:
    """List what leads to each repeat, and what it may be given thousands of times."""
    leads = before
    for index, node in enumerate(nodes):
        kind, value = node
        if kind in REPEATS:
            _, high, body = value
            pumps = list_leads(list(body), flags, groups)
            single = list_characters(body[0], flags) if len(body) == 1 else ""
            pumps = list(dict.fromkeys([*pumps, *single[:6]]))
            follow = list_leads(nodes[index + 1 :], flags, groups)[:4]
            if high > 1:
                yield from ((lead, pump) for lead in leads for pump in pumps if pump)
                yield from (
                    (lead, pump + after) for lead in leads[:6] for pump in pumps[:6] for after in follow if pump
                )
            yield from find_repeats(list(body), leads, flags, groups)
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from find_repeats(list(branch), leads, flags, groups)
        elif kind is op.SUBPATTERN:
            yield from find_repeats(list(value[3]), leads, flags | value[1], groups)
        elif kind is op.ATOMIC_GROUP:
            yield from find_repeats(list(value), leads, flags, groups)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from find_repeats(list(value[1]), leads, flags, groups)
        parts = list_samples(node, flags, groups) or [""]
        joined_texts = [lead + part for part in parts for lead in leads]
        leads = list(dict.fromkeys(joined_texts[:: max(len(joined_texts) // MOST_WAYS, 1)]))[:MOST_WAYS]


def build_seeds(
    pattern: re.Pattern[str], examples: tuple[str, ...] = (), max_count: int = 240
) -> list[tuple[str, str]]:
    """Return (lead, pump) of each place of a pattern, and of each start of the examples with each telling character.

    Where there are more than `max_count`, they are taken evenly from all.
    """
    tree = parser.parse(pattern.pattern, pattern.flags)
    seeds: dict[tuple[str, str], None] = {}
    for before, pump in find_repeats(list(tree), [""], pattern.flags, {}):
        seeds[before, pump] = None
        seeds["", before + pump] = None
    for example in examples:
        for end in range(1, len(example) + 1):
            seeds["", example[:end]] = None
            for char in TELLING:
                seeds[example[:end], char] = None
                seeds[example[:end] + " a, ", char] = None
                seeds["", example[:end] + char] = None
    step = max(len(seeds) / max_count, 1.0)
    chosen_seeds = list(seeds)
    return [chosen_seeds[int(index * step)] for index in range(int(len(chosen_seeds) / step))]


class TooSlowError(Exception):
    """A text took longer than the limit."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError after so many seconds of the processor, which a busy machine does not shorten."""

    def stop(*_: object) -> None:
        raise TooSlowError

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


SMALL, MIDDLE, LARGE = 2**12, 2**14, 2**18
TIME_LIMIT = 1.0
"""Seconds of the processor for `WHOLE` characters."""
LEAST_RUNS = 3
"""The number of inputs that are tried whole, the slowest first, however quick they were."""


def measure(work: Callable[[str], object], text: str, max_seconds: float) -> float:
    """Return the seconds of the processor that a work on a text takes; twice the most where it had to be ended."""
    start = time.process_time()
    try:
        with limit(max_seconds * 2):
            work(text)
    except TooSlowError:
        return max_seconds * 2
    return time.process_time() - start


def find_slow(
    work: Callable[[str], object], seeds: Iterable[tuple[str, str]], ends: tuple[str, ...] = ("", "\x00")
) -> list[str]:
    """Describe what takes longer than `TIME_LIMIT` for 256 KiB.

    All inputs are tried at 4 KiB, where a quadratic one that would just be too slow takes a quarter of a millisecond;
    those that take more at 16 KiB, and those that would then be too slow by their growth at 256 KiB.
    """

    def measure_at(size: int, seed: tuple[str, str, str], max_seconds: float) -> float:
        before, pump, end = seed
        return measure(work, before + pump * (size // len(pump)) + end, max_seconds)

    small = sorted(
        ((measure_at(SMALL, (*seed, end), 1.0), (*seed, end)) for seed in seeds for end in ends), reverse=True
    )
    middle: list[tuple[float, tuple[str, str, str]]] = []
    for first, seed in small:
        if first < TIME_LIMIT * (SMALL / LARGE) ** 2 * 4 and len(middle) >= LEAST_RUNS:
            break
        second = measure_at(MIDDLE, seed, 1.0)
        growth = second / max(first, 1e-6)
        middle.append((second * (256 if growth > 8 else 16), seed))
    middle.sort(reverse=True)
    slow: list[str] = []
    for number, (expected, seed) in enumerate(middle):
        if (number >= LEAST_RUNS and expected < TIME_LIMIT) or len(slow) == 3:
            break
        seconds = measure_at(LARGE, seed, TIME_LIMIT)
        if seconds > TIME_LIMIT:
            slow.append(f"{seconds:.1f} s: {seed[0]!r} + {seed[1]!r} * n + {seed[2]!r}")
    return slow

"""How a diagnosis is put into words: what every form of its report says the same way."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpustack.ask.alike import Evidence
from gpustack.ask.api import ADMIN
from gpustack.ask.probe import CLUSTER
from gpustack.doctor.changed import Change
from gpustack.doctor.finding import Branch, Diagnosis, Judged
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import Peers
from gpustack.report.words import Clean, command, count, duration, place, places

API = {"confirmed": "API down", "refuted": "API reachable", "unknown": "API not known"}
NEGATED = re.compile(r"\bnot \S+")
WORD = re.compile(r"\w")
PARTS = re.compile(r"[\s=\"':,;()]+")
SHOWN = 4
"""Of a list, where the rest is told on request."""
LONG, LEAD = 160, 20
"""Characters of a line that is shown from its beginning; and before the word that a longer one is shown for."""


def heading(found: Diagnosis) -> str:
    """`3 hosts, API reachable, 61 facts, 4.2 s`"""
    snapshot = found.snapshot
    api = found.judged.get(("st-apiserver-down", CLUSTER))
    facts = sum(not answer.lost for answer in snapshot.answers.values())
    hosts = count(len(snapshot.inventory.hosts), "host")
    return f"{hosts}, {API[api.outcome if api else 'unknown']}, {count(facts, 'fact')}, {duration(snapshot.took)}"


def calm(found: Diagnosis) -> str:
    """Of a healthy cluster: what was looked for."""
    known = len(graph().faults)
    return f"no fault found: {known - found.unchecked} of {known} faults can be told, and none is there"


def summed(found: Diagnosis) -> str:
    """`2 root causes, 1 unexplained`"""
    parts = [count(len(found.roots), "root cause")] if found.roots else []
    parts += [f"{len(found.unexplained)} unexplained"] if found.unexplained else []
    parts += [f"{count(len(found.drift), 'difference')} from the spec"] if found.drift else []
    return ", ".join(parts) or "no root cause found"


def next_command(found: Diagnosis) -> tuple[str, str]:
    """What to type in the end, and when; empty where nothing is left to do."""
    inventory = found.snapshot.inventory
    if found.roots:
        return "after the fix", command("doctor", inventory)
    return ("next", command("plan", inventory)) if found.drift else ("", "")


def by_text(judged: Iterable[Judged], clean: Clean) -> dict[str, list[Judged]]:
    """What was found, each text once with all that said it."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(clean(str(one.told or one.why)), []).append(one)
    return found


def first(texts: Sequence[str], shown: int, where: str = "", between: str = ", ") -> str:
    """The first ones, and how many more there are."""
    more = len(texts) - shown
    return between.join(texts[:shown]) + (f"  (+{more}{where})" if more > 0 else "")


def titles(judged: Iterable[Judged]) -> list[str]:
    """Each once, with its places."""
    by_id: dict[str, list[str]] = {}
    for one in judged:
        by_id.setdefault(one.id, []).append(one.where)
    return [titled(id, wheres) for id, wheres in by_id.items()]


def titled(id: str, wheres: Sequence[str]) -> str:
    where = "" if list(wheres) == [CLUSTER] else f" ({places(wheres)})"
    return f"{graph()[id].title}{where}"


def refusals(judged: Iterable[Judged]) -> list[str]:
    """`id (the value that refuted it)`, each once: those of several hosts by the first."""
    by_id = {one.id: one for one in reversed(list(judged))}
    return [f"{one.id} ({one.told})" for one in reversed(by_id.values())]


def lately(changes: Iterable[Change], clean: Clean) -> list[str]:
    """`/etc/… written (host2, 2 min earlier)`; of hours the minutes do."""
    return [f"{clean(one.what)} ({one.where}, {duration(rounded(one.ago))} earlier)" for one in changes]


def rounded(seconds: int) -> int:
    return seconds if seconds < 600 else round(seconds / 60) * 60


def well(peers: Iterable[Peers], clean: Clean) -> list[str]:
    """`host2, host3: 1`"""
    return [f"{places(one.hosts)}: {clean(one.found)}" for one in peers]


def because(judged: Iterable[Judged], clean: Clean) -> str:
    """The reasons, each once."""
    return "; ".join(dict.fromkeys(clean(one.why) for one in judged))


def missing(judged: Iterable[Judged], clean: Clean) -> list[str]:
    """What could not be told, by its reason, the most frequent first."""
    counted: dict[str, int] = {}
    for one in judged:
        why = clean(one.why)
        counted[why] = counted.get(why, 0) + 1
    return [f"{why} ({number})" for why, number in sorted(counted.items(), key=lambda pair: -pair[1])]


def said(seen: Evidence, clean: Clean, found: str, width: int) -> list[str]:
    """`host $ command → what it said`, on two lines where one is too short."""
    asked, told = asked_and_told(seen, clean, found)
    if len(asked) + len(told) + 3 <= width:
        return [f"{asked} → {told}"]
    return [cut(asked, width), cut(f"  → {told}", width)]


def asked_and_told(seen: Evidence, clean: Clean, found: str) -> tuple[str, str]:
    """Of a script its first line that asks, of an answer the line that tells."""
    script = [line for line in seen.command.strip().splitlines() if line.strip()] or [""]
    shown = next((line for line in script if not line.startswith("echo '==")), script[0])
    shown = shown.replace(f" {ADMIN}", "")
    asked = f"{place(seen.answer.where)} $ {shown}{' …' if len(script) > 1 else ''}"
    answered = telling(clean(seen.answer.lost or seen.answer.out or seen.answer.err), found)
    ended = f"(ended with {seen.answer.rc})" if seen.answer.rc and not seen.answer.lost else ""
    return asked, answered or ended or "(nothing)"


def telling(text: str, found: str) -> str:
    """The line with most of the words that were found, a long and rare one before others; else the first that is no
    heading or comment. Of a long line, as JSON is, from shortly before the longest of these words on."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("== ", "# "))]
    # Of JSON in lines, not its brackets.
    lines = [line for line in lines if WORD.search(line)] or lines
    there_is = NEGATED.sub(" ", found)
    words = {word for word in PARTS.split(there_is) if len(word) > 2}
    short = [(line, words & set(PARTS.split(line))) for line in lines if len(line) <= LONG]
    often = Counter(word for _, there in short for word in there)
    best, there = max(short, key=lambda one: sum(len(word) / often[word] for word in one[1]), default=("", set()))
    if there or len(short) == len(lines):
        return best
    long = next((line for line in lines if any(word in line for word in words)), lines[0])
    spot = long.find(max((word for word in words if word in long), key=len, default=""))
    return f"…{long[spot - LEAD :]}" if len(long) > LONG and spot > LEAD else long


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def tree(branch: Branch, depth: int = 0) -> Iterator[str]:
    """From the root to what was seen, further in with each step."""
    entry = graph()[branch.id]
    where = "" if branch.wheres == (CLUSTER,) else f" ({places(branch.wheres)})"
    yield f"{'   ' * (depth - 1)}{'└─ ' if depth else ''}{branch.id}: {entry.title}{where}"
    for below in branch.branches:
        yield from tree(below, depth + 1)

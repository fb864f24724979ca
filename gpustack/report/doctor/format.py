"""How a diagnosis is put into words: what every form of its report says the same way."""

from collections.abc import Iterable, Iterator, Sequence

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.command import NO_HINT, Hint
from gpustack.doctor.entry import Auto
from gpustack.doctor.finding import Branch, Diagnosis
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import Peers
from gpustack.doctor.recent_changes import Change
from gpustack.events import count
from gpustack.report.format import NOT_ASKED, OLDER, Clean, cut, duration, places
from gpustack.rollout.next import build_command

API = {"failed": "API down", "ok": "API reachable", "unknown": "API unknown"}
AUTO: dict[Auto, str] = {"safe": "automatic", "ask": "needs confirmation", "no": "manual"}
SHOWN = 4
"""Items of a list; the rest is shown on request."""
REASON = 90
"""Characters of why a check is unknown."""


def heading(found: Diagnosis) -> str:
    """`3 hosts, API reachable, 61 facts, 4.2 s`"""
    snapshot = found.snapshot
    api = found.judged.get(("st-apiserver-down", CLUSTER))
    facts = sum(not answer.lost for answer in snapshot.answers.values())
    hosts = count(len(snapshot.inventory.hosts), "host")
    return f"{hosts}, {API[api.outcome if api else 'unknown']}, {count(facts, 'fact')}, {duration(snapshot.took)}"


def calm(found: Diagnosis) -> str:
    """Of a healthy cluster: how much was checked."""
    known = len(graph().faults)
    return f"no fault found ({known - found.unchecked} of {known} known faults checked)"


def summed(found: Diagnosis) -> str:
    """`2 root causes, 1 unexplained`"""
    parts = [count(len(found.roots), "root cause")] if found.roots else []
    parts += [f"{len(found.unexplained)} unexplained"] if found.unexplained else []
    parts += [f"{count(len(found.drift), 'difference')} from the spec"] if found.drift else []
    return ", ".join(parts) or "no root cause found"


def next_command(found: Diagnosis) -> tuple[str, Hint]:
    """What to type in the end, and when; empty where nothing is left to do."""
    inventory = found.snapshot.inventory
    if found.roots:
        return "after the fix", build_command(inventory, "doctor")
    return ("next", build_command(inventory, "plan")) if found.drift else ("", NO_HINT)


def by_text(judged: Iterable[Judgement], clean: Clean) -> dict[str, list[Judgement]]:
    """What was found, each text once with all checks that found it."""
    found: dict[str, list[Judgement]] = {}
    for one in judged:
        found.setdefault(clean(str(one.result or one.why)), []).append(one)
    return found


def first(texts: Sequence[str], shown: int, where: str = "", between: str = ", ") -> str:
    """The first ones, and how many more there are."""
    more = len(texts) - shown
    return between.join(texts[:shown]) + (f"  (+{more}{where})" if more > 0 else "")


def titles(judged: Iterable[Judgement]) -> list[str]:
    """Each once, with its places."""
    return [titled(id, locations) for id, locations in located(judged).items()]


def identified(judged: Iterable[Judgement]) -> list[str]:
    """Like `titles`, with the ids that `gpustack explain` takes."""
    return [f"{id} ({places(locations)})" for id, locations in located(judged).items()]


def located(judged: Iterable[Judgement]) -> dict[str, list[str]]:
    by_id: dict[str, list[str]] = {}
    for one in judged:
        by_id.setdefault(one.id, []).append(one.where)
    return by_id


def titled(id: str, locations: Sequence[str]) -> str:
    where = "" if list(locations) == [CLUSTER] else f" ({places(locations)})"
    return f"{graph()[id].title}{where}"


def refusals(judged: Iterable[Judgement]) -> list[str]:
    """`id (the value that refuted it)`, each once: those of several hosts by the first."""
    by_id = {one.id: one for one in reversed(list(judged))}
    return [f"{one.id} ({one.result})" for one in reversed(by_id.values())]


def earlier(changes: Iterable[Change], clean: Clean) -> list[str]:
    """`/etc/… written (host2, 2 min earlier)`; of hours the minutes do."""
    return [f"{clean(one.what)} ({one.where}, {duration(rounded(one.ago))} earlier)" for one in changes]


def rounded(seconds: int) -> int:
    return seconds if seconds < 600 else round(seconds / 60) * 60


def well(peers: Iterable[Peers], clean: Clean) -> list[str]:
    """`host2, host3: 1`"""
    return [f"{places(one.hosts)}: {clean(one.found)}" for one in peers]


def because(judged: Iterable[Judgement], clean: Clean) -> str:
    """The reasons, each once."""
    return "; ".join(dict.fromkeys(clean(one.why) for one in judged))


def missing(judged: Iterable[Judgement], clean: Clean) -> list[str]:
    """Why checks are unknown, the most frequent reason first. JSON has each whole."""
    counted: dict[str, int] = {}
    for one in judged:
        why = OLDER if one.why.startswith(NOT_ASKED) else cut(clean(one.why), REASON)
        counted[why] = counted.get(why, 0) + 1
    return [f"{why} ({number})" for why, number in sorted(counted.items(), key=lambda pair: -pair[1])]


def tree(branch: Branch, depth: int = 0) -> Iterator[str]:
    """From the root to what was seen, further in with each step."""
    entry = graph()[branch.id]
    where = "" if branch.locations == (CLUSTER,) else f" ({places(branch.locations)})"
    yield f"{'   ' * (depth - 1)}{'└─ ' if depth else ''}{branch.id}: {entry.title}{where}"
    for below in branch.branches:
        yield from tree(below, depth + 1)

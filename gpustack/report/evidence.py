"""The commands that a finding rests on, as a person would type them."""

from gpustack.ask.api import ADMIN
from gpustack.ask.judge import Judgement
from gpustack.ask.view import Evidence
from gpustack.report.format import Clean, place

LONG = 160
"""Characters of a line that is quoted."""


def command(entry: Evidence) -> str:
    """Of a script what shows the same."""
    return f"{place(entry.answer.where)} $ {entry.like or entry.command.strip().replace(f' {ADMIN}', '')}"


def answer(entry: Evidence, one: Judgement, clean: Clean) -> str:
    """The line that the check quotes, of an answer in lines; or why there is no answer. Else empty."""
    reply, words = entry.answer, one.result.quote.split() if one.result else []
    text = "" if reply.out.startswith(("{", "[")) else reply.out
    lines = (line.strip() for line in text.splitlines() if len(line) <= LONG)
    quoted = next((line for line in lines if words and all(word in line for word in words)), "")
    return clean(quoted or reply.lost) or (f"(ended with {reply.rc})" if reply.rc else "")


def commands(one: Judgement, clean: Clean) -> list[str]:
    """Each once, with its answer on a line of its own; those with one come first."""
    found = sorted(
        ((command(entry), answer(entry, one, clean)) for entry in one.evidence), key=lambda pair: not pair[1]
    )
    return list(dict.fromkeys(f"{asked}\n  → {reply}" if reply else asked for asked, reply in found))

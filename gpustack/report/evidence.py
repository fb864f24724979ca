"""A piece of evidence in words: the command that asked, and the line of its answer that tells."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpustack.ask.alike import Evidence
from gpustack.ask.api import ADMIN
from gpustack.report.words import Clean, cut, place

NEGATED = re.compile(r"\bnot \S+")
WORD = re.compile(r"\w")
PARTS = re.compile(r"[\s=\"':,;()]+")
HEADING = "== "
# What a line of a script says to the shell beside its command.
AROUND = re.compile(r"^(if|!|\{) | (2>/dev/null|\|\| exit.*|;;|; (then|do|\})).*$")
# What a script looks at before it asks, and its headings.
ASIDE = re.compile(r"\[ |command -v |test |set |.*'== ")
KEPT = re.compile(r"""^(?:echo|printf '%s\\n') "\$(\w+)\"""")
# When it was, of a line of a log: the report says when it asked.
STAMP = re.compile(r'^time="[^"]*" (?=level=)')
LONG, LEAD = 160, 20
"""Characters of a line that is shown from its beginning; and before the word that a longer one is shown for."""


@dataclass(frozen=True)
class Line:
    """Of an answer, with the heading that it stands under: empty where nothing was said, or there is none."""

    text: str = ""
    heading: str = ""

    @property
    def short(self) -> bool:
        return len(self.text) <= LONG

    @property
    def words(self) -> set[str]:
        return {*PARTS.split(self.text), *PARTS.split(self.heading)}


def deciding(asked: Sequence[Evidence], clean: Clean, found: str) -> Sequence[Evidence]:
    """Of the answers that a finding rests on those that failed or have a word of it; all of them where none has."""

    def decides(seen: Evidence) -> bool:
        failed = bool(seen.answer.rc or seen.answer.lost)
        return failed or any(words(found) & line.words for line in lines(clean(seen.answer.out)))

    return [seen for seen in asked if decides(seen)] or asked


def said(seen: Evidence, clean: Clean, found: str, width: int) -> list[str]:
    """`host $ command → what it said`, on two lines where one is too short."""
    asked, told = asked_and_told(seen, clean, found)
    if len(asked) + len(told) + 3 <= width:
        return [f"{asked} → {told}"]
    return [cut(asked, width), cut(f"  → {told}", width)]


def asked_and_told(seen: Evidence, clean: Clean, found: str) -> tuple[str, str]:
    """Of an answer the line that tells, of a script the line that asked for it."""
    script = [line for line in seen.command.strip().splitlines() if line.strip()] or [""]
    told = telling(clean(seen.answer.lost or seen.answer.out or seen.answer.err), found)
    plain = (line for line in script if not ASIDE.match(line))
    shown = asking(script, told.heading) or next(plain, script[0])
    shown = shown.replace(f" {ADMIN}", "")
    asked = f"{place(seen.answer.where)} $ {shown}{' …' if len(script) > 1 else ''}"
    ended = f"(ended with {seen.answer.rc})" if seen.answer.rc and not seen.answer.lost else ""
    return asked, told.text or ended or "(nothing)"


def asking(script: Sequence[str], heading: str) -> str:
    """What a script asks under a heading: behind it on the same line, or on the next. What it only repeats there was
    asked before. Empty where it makes its headings itself."""
    for at, line in enumerate(script):
        _, there, behind = line.partition(f"echo '{HEADING}{heading}'")
        if not there:
            continue
        asks = behind.partition(";")[2].strip() or next(iter(script[at + 1 :]), "").strip()
        if again := KEPT.match(asks):
            asks = next(kept(script[:at], again[1]), asks)
        return AROUND.sub("", asks)
    return ""


def kept(script: Sequence[str], name: str) -> Iterator[str]:
    """What was asked into a variable of the shell, the last first."""
    into = re.compile(rf"\b{name}=\$\((.+?)\)")
    yield from (found[1] for line in reversed(script) if (found := into.search(line)))


def telling(text: str, found: str) -> Line:
    """The line with most of the words that were found, a long and rare one before others, those of its heading with
    them; else the first that is no heading or comment. Of a long line, as JSON is, from shortly before the longest of
    these words on."""
    there = lines(text)
    # Of JSON in lines, not its brackets.
    there = [line for line in there if WORD.search(line.text)] or there
    sought = words(found)
    short = [(line, sought & line.words) for line in there if line.short]
    often = Counter(word for _, said in short for word in said)
    best, has = max(short, key=lambda one: sum(len(word) / often[word] for word in one[1]), default=(Line(), set()))
    if has or len(short) == len(there):
        return best
    long = next((line for line in there if any(word in line.text for word in sought)), there[0])
    spot = long.text.find(max((word for word in sought if word in long.text), key=len, default=""))
    begun = f"…{long.text[spot - LEAD :]}" if not long.short and spot > LEAD else long.text
    return Line(begun, long.heading)


def words(found: str) -> set[str]:
    """That can be sought in an answer: not short ones, and not what was found missing."""
    return {word for word in PARTS.split(NEGATED.sub(" ", found)) if len(word) > 2}


def lines(text: str) -> list[Line]:
    """Without headings and comments."""
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith(HEADING):
            heading = line.removeprefix(HEADING)
        elif line.strip() and not line.startswith("# "):
            found.append(Line(STAMP.sub("", line.strip()), heading))
    return found

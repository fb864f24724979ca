"""A piece of evidence in words: the command that asked, and the line of its answer that tells."""

import re
from collections.abc import Iterator, Sequence

from gpustack.ask.api import ADMIN
from gpustack.ask.judge import Result
from gpustack.ask.probe import HEADING
from gpustack.ask.view import Evidence
from gpustack.report.answer_lines import Line, lines, row
from gpustack.report.telling import LONG, NUMBERED, Sought, telling
from gpustack.report.words import Clean, cut, place

# What a line of a script says to the shell beside its command.
AROUND = re.compile(r"^(if|!|\{) | (2>/dev/null|\|\| exit.*|;;|; (then|do|\})).*$")
# What a script looks at before it asks, and its headings.
ASIDE = re.compile(r"\[ |command -v |test |set |cd |.*'== ")
VARIABLES = re.compile(r'( "\$\w+")+$')
KEPT = re.compile(r"""^(?:echo|printf '%s\\n') "\$(\w+)\"""")


def sought(told: Result | None, clean: Clean, length: int | None = None) -> Sought:
    """What its evidence is to tell; of each text at most `length` characters."""
    if not told:
        return Sought("")
    wished = clean(f"{told.expected[:length]} {told.what[:length]}")
    return Sought(clean(told.found[:length]), wished, clean(told.quote), told.by)


def deciding(asked: Sequence[Evidence], clean: Clean, found: Sought) -> Sequence[Evidence]:
    """Of the answers that a finding rests on the one that it names or quotes; else those that failed, or have about as
    much of it as another one; where none has a word of it, of what it should have been."""
    if named := [seen for seen in asked if seen.answer.probe == found.by]:
        return named
    if quoting := [seen for seen in asked if found.quoted(lines(clean(seen.answer.out)))]:
        return quoting
    shares = [found.share(clean(seen.answer.out)) for seen in asked]
    of = 0 if any(share[0] for share in shares) else 1
    enough = max((share[of] for share in shares), default=0) / 3
    failed = [bool(seen.answer.lost or (seen.answer.rc and not seen.answer.out)) for seen in asked]
    some = [seen for seen, share, bad in zip(asked, shares, failed, strict=True) if bad or 0 < share[of] >= enough]
    return some or asked


def said(seen: Evidence, clean: Clean, found: Sought, width: int) -> list[str]:
    """`host $ command → what it said`, on two lines where one is too short."""
    asked, told = asked_and_told(seen, clean, found, width - 4)
    if len(asked) + len(told) + 3 <= width:
        return [f"{asked} → {told}"]
    return [cut(asked, width), cut(f"  → {told}", width)]


def asked_and_told(seen: Evidence, clean: Clean, found: Sought, room: int = LONG) -> tuple[str, str]:
    """Of an answer the line that tells; of a script what a person would type instead, or the line that asked."""
    told = row(telling(clean(seen.answer.lost or seen.answer.out or seen.answer.err), found, room), seen.rows)
    asked = f"{place(seen.answer.where)} $ {seen.like or in_script(seen.command, told)}"
    ended = f"(ended with {seen.answer.rc})" if seen.answer.rc and not seen.answer.lost else ""
    # Of several questions in one, which it was.
    of = f"{NUMBERED.sub('', told.heading)}: " if seen.like and told.heading else ""
    # Once more: of JSON it has what was escaped there.
    return asked, clean(f"{of}{told.text}") if told.text else ended or "(nothing)"


def in_script(command: str, told: Line) -> str:
    script = [line for line in command.strip().splitlines() if line.strip()] or [""]
    plain = (line for line in script if not ASIDE.match(line))
    shown = asking(script, told.heading) or next(plain, script[0])
    typed = VARIABLES.sub("", shown.replace(f" {ADMIN}", ""))
    return f"{typed}{' …' if len(script) > 1 else ''}"


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

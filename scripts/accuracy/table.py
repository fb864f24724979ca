"""The results as Markdown: the summary that docs/accuracy.md keeps, and a row for each case."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from gpustack.lab.faults.entries import injectors
from scripts.accuracy.cases import PAIR, order
from scripts.accuracy.results import PERSON, ROOT, STAYS, Result


def text(kept: Mapping[str, Result]) -> str:
    """The score, then each case. A result without its code is one that could not be made."""
    played = [kept[name] for name in order(kept) if kept[name].code]
    healthy = [one for one in played if not one.faults]
    singles = [one for one in played if one.faults and PAIR not in one.name]
    pairs = [one for one in played if PAIR in one.name]
    page = f"{datetime.now(UTC):%Y-%m-%d}, commit {commit()}:\n\n" + "".join(
        score(what, some)
        for what, some in (("Single faults", singles), ("Pairs", pairs), ("Healthy variants", healthy))
        if some
    )
    asked = [one for one in played if one.fixed not in ("", PERSON, STAYS)]
    fixed = sum(one.fixed == "fixed" for one in asked)
    by_people = sum(one.fixed == PERSON for one in played)
    if asked:
        page += f"- `doctor --fix`: {fixed} of {len(asked)} fixed, and doctor healthy after it; "
        page += f"{by_people} as they were made are for a person, and nothing was changed.\n"
    left = [name for name in injectors() if name not in {one.name for one in singles}]
    page += f"- Not played yet: {', '.join(f'`{name}`' for name in left)}.\n" if left else ""
    page += "\n| fault | exact | roots found | unexplained | seconds | folded | `--fix` | what the first rests on |\n"
    return f"{page}|---|---|---|---|---|---|---|---|\n" + "".join(row(one) for one in played)


def commit() -> str:
    return subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()


def score(what: str, found: Sequence[Result]) -> str:
    exact = sum(one.exact for one in found)
    extra = sum(len(set(one.found) - set(one.faults)) for one in found)
    time = median(one.seconds for one in found)
    share = 100 * exact / len(found)
    return f"- {what}: {exact} of {len(found)} exact ({share:.0f} %), {extra} false roots, median {time:.1f} s.\n"


def row(one: Result) -> str:
    found, bare = (", ".join(f"`{id}`" for id in ids) or "none" for ids in (one.found, one.unexplained))
    actual = one.actual.replace("|", "\\|").replace("\n", " ")[:120].rstrip()
    cells = (f"`{one.name}`", "yes" if one.exact else "no", found, bare, one.seconds, one.folded, one.fixed, actual)
    return f"| {' | '.join(map(str, cells))} |\n"

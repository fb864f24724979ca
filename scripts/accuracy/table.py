"""Results as Markdown: the summary that docs/accuracy.md keeps, and a row for each case."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from gpustack_lab.lab.faults.entries import read_injectors
from scripts.accuracy.cases import PAIR, order_names
from scripts.accuracy.results import PERSON, ROOT, STAYS, Result


def render_table(results: Mapping[str, Result]) -> str:
    """Render the score, then each case. A result without its code is one that could not be made."""
    played = [results[name] for name in order_names(results) if results[name].code]
    healthy = [healthy_result for healthy_result in played if not healthy_result.faults]
    singles = [single_result for single_result in played if single_result.faults and PAIR not in single_result.name]
    pairs = [pair_result for pair_result in played if PAIR in pair_result.name]
    page = f"{datetime.now(UTC):%Y-%m-%d}, commit {read_commit()}:\n\n" + "".join(
        format_score(what, some)
        for what, some in (("Single faults", singles), ("Pairs", pairs), ("Healthy variants", healthy))
        if some
    )
    asked = [played_result for played_result in played if played_result.fix_outcome not in ("", PERSON, STAYS)]
    fixed = sum(fix_result.fix_outcome == "fixed" for fix_result in asked)
    by_people = sum(manual_result.fix_outcome == PERSON for manual_result in played)
    if asked:
        page += f"- `doctor --fix`: {fixed} of {len(asked)} fixed, and doctor healthy after it; "
        page += f"{by_people} as they were made are for a person, and nothing was changed.\n"
    left = [name for name in read_injectors() if name not in {single.name for single in singles}]
    page += f"- Not played yet: {', '.join(f'`{name}`' for name in left)}.\n" if left else ""
    page += "\n| fault | exact | roots found | unexplained | seconds | folded | `--fix` | what the first rests on |\n"
    return f"{page}|---|---|---|---|---|---|---|---|\n" + "".join(format_row(result) for result in played)


def read_commit() -> str:
    return subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()


def format_score(title: str, results: Sequence[Result]) -> str:
    exact = sum(result.exact for result in results)
    extra = sum(len(set(wrong_result.roots) - set(wrong_result.faults)) for wrong_result in results)
    time = median(timed_result.seconds for timed_result in results)
    share = 100 * exact / len(results)
    return f"- {title}: {exact} of {len(results)} exact ({share:.0f} %), {extra} false roots, median {time:.1f} s.\n"


def format_row(result: Result) -> str:
    roots, bare = (", ".join(f"`{id}`" for id in ids) or "none" for ids in (result.roots, result.unexplained_ids))
    actual = result.actual.replace("|", "\\|").replace("\n", " ")[:120].rstrip()
    cells = (
        f"`{result.name}`",
        "yes" if result.exact else "no",
        roots,
        bare,
        result.seconds,
        result.folded_count,
        result.fix_outcome,
        actual,
    )
    return f"| {' | '.join(map(str, cells))} |\n"

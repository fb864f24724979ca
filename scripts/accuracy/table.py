"""Results as Markdown: the summary that docs/accuracy.md keeps, and a row for each case."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median

from gpustack_lab.lab.faults.entries import read_injectors
from scripts.accuracy.cases import PAIR, order_names
from scripts.accuracy.results import NO_LAB_FIX, PERSON, ROOT, Result


def render_table(results: Mapping[str, Result]) -> str:
    """Render the score, then each case. A result without its code is one that could not be made."""
    played_results = [results[name] for name in order_names(results) if results[name].code]
    healthy_results = [result for result in played_results if not result.faults]
    single_results = [result for result in played_results if result.faults and PAIR not in result.name]
    pair_results = [result for result in played_results if PAIR in result.name]
    page = f"{datetime.now(UTC):%Y-%m-%d}, commit {read_commit()}:\n\n" + "".join(
        format_score(title, group_results)
        for title, group_results in (
            ("Single faults", single_results),
            ("Pairs", pair_results),
            ("Healthy variants", healthy_results),
        )
        if group_results
    )
    fix_results = [result for result in played_results if result.fix_outcome not in ("", PERSON, NO_LAB_FIX)]
    fixed_count = sum(result.fix_outcome == "fixed" for result in fix_results)
    manual_count = sum(result.fix_outcome == PERSON for result in played_results)
    if fix_results:
        page += f"- `doctor --fix`: {fixed_count} of {len(fix_results)} fixed, and doctor healthy after it; "
        page += f"{manual_count} as they were made are for a person, and nothing was changed.\n"
    unplayed_names = [name for name in read_injectors() if name not in {single.name for single in single_results}]
    page += f"- Not played yet: {', '.join(f'`{name}`' for name in unplayed_names)}.\n" if unplayed_names else ""
    page += "\n| fault | exact | roots found | unexplained | seconds | folded | `--fix` | what the first rests on |\n"
    return f"{page}|---|---|---|---|---|---|---|---|\n" + "".join(format_row(result) for result in played_results)


def read_commit() -> str:
    return subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()


def format_score(title: str, results: Sequence[Result]) -> str:
    exact_count = sum(result.exact for result in results)
    false_count = sum(len(set(result.roots) - set(result.faults)) for result in results)
    time = median(result.seconds for result in results)
    share = 100 * exact_count / len(results)
    score = f"{exact_count} of {len(results)} exact ({share:.0f} %), {false_count} false roots, median {time:.1f} s"
    return f"- {title}: {score}.\n"


def format_row(result: Result) -> str:
    roots, symptoms = (", ".join(f"`{id}`" for id in ids) or "none" for ids in (result.roots, result.unexplained_ids))
    actual = result.actual.replace("|", "\\|").replace("\n", " ")[:120].rstrip()
    cells = (
        f"`{result.name}`",
        "yes" if result.exact else "no",
        roots,
        symptoms,
        result.seconds,
        result.folded_count,
        result.fix_outcome,
        actual,
    )
    return f"| {' | '.join(map(str, cells))} |\n"

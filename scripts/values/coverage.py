"""The table of docs/alerts.md: what each alert reads, on which boards it can fire, and where it was quiet.

A board is described by the words of the column `absent` of gpustack/versions/dcgm-fields.csv, and by recorded pages of
it. A field that the pages of other boards have, from an exporter with the same list, is absent on a board whose whole
page lacks it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpustack.config.resources import locate_shipped_values, read_own_counters
from gpustack.gpus.silent_alerts import list_board_words
from gpustack.metrics.exposition import parse_page
from gpustack.vocabulary.alert_needs import Words, find_missing_words, is_of_exporter
from gpustack.vocabulary.fields import find_fields, find_original, load_fields
from scripts.values.needs import Needs, build_alert_needs, list_rules

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "alerts.md"
PAGES = ROOT / "tests" / "recorded" / "exporter-pages"
BEGIN, END = "<!-- written by `make values`: what each alert needs -->", "<!-- end of what is written -->"
DEFAULT_LIST = ("t4-full-load", "l4", "l40s")
"""Whole pages of exporters with the list of counters that they have by default."""
LABELS = ("{pod}", "{node}", "{UUID}", "{modelName}", "DCGM_FI_DRIVER_VERSION")
"""Every exporter sends these that is set up as gpustack does it."""


@dataclass(frozen=True)
class Board:
    """Describe a kind of GPU. `lacks` are phrases of the column `absent`, `pages` the names of recorded pages. Of one
    that no document describes, the page says what is there: a field of DEFAULT_LIST that it lacks is absent, and others
    are unknown."""

    name: str
    lacks: tuple[str, ...]
    pages: tuple[str, ...] = ()
    instances: bool = False
    documented: bool = True


NO_LINKS = ("GPUs without NVLink", "hosts without NVSwitch", "systems without multi-node NVLink")
BEFORE_BLACKWELL = ("GPUs before Blackwell", "GPUs from Ampere on")
BOARDS = (
    Board(
        "T4",
        ("GPUs before Ampere", "GPUs before Hopper", "GPUs before Blackwell", "older GPUs and drivers", *NO_LINKS),
        ("t4-idle", "t4-full-load"),
    ),
    Board("H100", (*BEFORE_BLACKWELL, "systems without multi-node NVLink")),
    Board(
        "GeForce",
        ("consumer GPUs", "GPUs without ECC", *BEFORE_BLACKWELL, *NO_LINKS),
    ),
    Board(
        "MIG board",
        ("GPUs in MIG mode", "MIG mode with instances", "MIG instances", *BEFORE_BLACKWELL),
        ("a800-mig",),
        instances=True,
    ),
    Board("vGPU guest", ("vGPU guests", *NO_LINKS), ("vgpu-guest-a100-10c",), documented=False),
)


def render_page() -> str:
    """Render docs/alerts.md with the table of today. Raise ValueError where its marks are not there once each."""
    head, _, tail = PAGE.read_text().partition(BEGIN)
    _, mark, foot = tail.partition(END)
    if not mark or END in foot:
        raise ValueError(f"{PAGE} needs one line {BEGIN} and, behind it, one line {END}")
    return f"{head}{BEGIN}\n\n{render_table()}\n{END}{foot}"


def render_table() -> str:
    head = ("alert", "needs", *(board.name for board in BOARDS), "from", "pages")
    sources = read_sources()
    rows = [
        (
            f"[{alert}](#{alert.lower()})",
            format_needs(needs),
            *(judge_board(board, needs) for board in BOARDS),
            sources[alert],
            count_pages(needs),
        )
        for alert, needs in build_alert_needs().items()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))


def format_needs(needs: Needs) -> str:
    """Format the alternatives, without what all of them need together twice."""
    common = frozenset.intersection(*needs)
    alternatives = sorted({format_words(words - common) for words in needs} - {""})
    choice = f"one of: {', '.join(alternatives)}" if alternatives else ""
    return "; ".join(filter(None, [format_words(common), choice])) or "nothing"


def format_words(words: Iterable[str]) -> str:
    """Format what is needed together, without metrics of which a label is needed."""
    shown_words = {word.strip("{}") if word[0] == "{" else word.removeprefix("DCGM_FI_") for word in words}
    return " + ".join(
        f"`{word}`"
        for word in sorted(shown_words)
        if not any(label_word.startswith(word + "{") for label_word in shown_words)
    )


def judge_board(board: Board, needs: Needs) -> str:
    """Judge whether an alert can fire on a board: `page` by what was recorded, `yes` by documents, `?` where neither
    says so, or not at all."""
    if not any(is_of_exporter(word) for words in needs for word in words):
        return "all"
    words = {*list_other_words(needs), *LABELS}
    if any(not find_missing_words(needs, words | read_page_words(page)) for page in board.pages):
        return "page"
    possible_words = words | {name for name in list_counters() if not is_absent(board, name)}
    possible_words |= {"{GPU_I_ID}"} if board.instances else set()
    return "-" if find_missing_words(needs, possible_words) else "yes" if board.documented else "?"


def list_other_words(needs: Needs) -> set[str]:
    return {word for words in needs for word in words if not is_of_exporter(word)}


def is_absent(board: Board, name: str) -> bool:
    """Tell whether a board has no value of a field, by documents or by its page."""
    absence = next((field.absent for field in load_fields() if field.name == name), "")
    if any(phrase in absence for phrase in board.lacks):
        return True
    if board.documented:
        return False
    expected_words = {word for page in DEFAULT_LIST for word in read_page_words(page)}
    return name in expected_words and not any(name in read_page_words(page) for page in board.pages)


@cache
def list_counters() -> frozenset[str]:
    """List the fields that exporters send as gpustack sets them up."""
    names = re.findall(r"(?m)^(DCGM_\w+)", read_own_counters())
    return frozenset(find_original(fields[0]).name for name in names if (fields := find_fields(name)))


@cache
def read_page_words(page: str) -> Words:
    """Read the fields and labels of a recorded page, of all its boards together."""
    families = parse_page((PAGES / f"{page}.prom").read_text()).families
    return frozenset(word for words in list_board_words(families, ()).values() for word in words)


def count_pages(needs: Needs) -> str:
    """Count the recorded pages of healthy boards that have all that an alert needs of an exporter: there it was
    evaluated, and stayed quiet."""
    names = sorted(path.stem for path in PAGES.glob("*.prom"))
    other_words = list_other_words(needs)
    evaluated_names = [name for name in names if not find_missing_words(needs, {*read_page_words(name), *other_words})]
    return f"{len(evaluated_names)} of {len(names)}"


def read_sources() -> dict[str, str]:
    """Read where the thresholds of each alert are from, out of the comments of its rules."""
    text = (locate_shipped_values() / "rules" / "gpu-alerts.yaml").read_text()
    sources: dict[str, set[str]] = {rule["alert"]: set() for rule in list_rules("gpu-alerts.yaml")}
    for alert, comment in re.findall(r"- alert: (\w+)\n((?:\s+#.*\n)*)", text):
        sources[alert].update(re.findall(r"\[([NKE])\]", comment))
    return {alert: ", ".join(sorted(marks)) or "-" for alert, marks in sources.items()}

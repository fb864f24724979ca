"""The fields of a page of metrics: which are there, and of those that are missing, what reads them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.gpus.dependents import Dependents
from gpustack.gpus.verdict import Verdict
from gpustack.metrics.exposition import Family
from gpustack.metrics.gpus import extract_gpu
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import resolve_field
from gpustack.vocabulary.fields import Field, convert_value, find_fields, find_original

NO_DEPENDENTS = Dependents()
State = Literal["present", "partial", "blank", "missing"]


@dataclass(frozen=True)
class FieldState:
    """Hold the state of a field: it is there for all boards or for some, has no value (blank), or is missing.
    `problems` are the messages of the verdicts that name it."""

    name: str
    state: State
    dependents: Dependents = NO_DEPENDENTS
    problems: tuple[str, ...] = ()


def list_field_states(
    families: Sequence[Family], dependents: Mapping[str, Dependents], verdicts: Sequence[Verdict]
) -> tuple[FieldState, ...]:
    """List the fields that something reads or that the page has, by name. A MIG instance counts with its board."""
    boards = set(list_boards(families))
    printed_boards: dict[str, set[str]] = {}
    measured_boards = find_labelled_boards(
        families, [name for name in dependents if find_fields(name)[0].kind == "label"]
    )
    printed_boards |= measured_boards
    spellings: dict[str, str] = {}
    for family in families:
        field = resolve_field(family.name, (family.help,))
        name = find_original(field).name if field else family.name
        spellings[name] = family.name
        printed_boards.setdefault(name, set()).update(list_boards([family]))
        values = [series for series in family.series if not field or has_value(field, series)]
        measured_boards.setdefault(name, set()).update(find_boards(series.labels for series in values))
    return tuple(
        FieldState(
            name,
            judge_state(boards, printed_boards.get(name, set()), measured_boards.get(name, set())),
            dependents.get(name, NO_DEPENDENTS),
            tuple(find_problems({name, spellings.get(name, name)}, verdicts)),
        )
        for name in sorted({*printed_boards, *dependents})
    )


def find_labelled_boards(families: Sequence[Family], names: Iterable[str]) -> dict[str, set[str]]:
    """Find the boards whose series have a field as a label."""
    labels = [series.labels for family in families for series in family.series]
    boards_by_name = {
        name: find_boards(
            label_set for label_set in labels if any(label_set.get(word) for word in find_fields(name)[0].spellings)
        )
        for name in names
    }
    return {name: boards for name, boards in boards_by_name.items() if boards}


def has_value(field: Field, series: Series) -> bool:
    return convert_value(field, series.points[-1][1]) is not None


def list_boards(families: Iterable[Family]) -> set[str]:
    return find_boards(series.labels for family in families for series in family.series)


def find_boards(label_sets: Iterable[Mapping[str, str]]) -> set[str]:
    return {gpu.key[0] for labels in label_sets if (gpu := extract_gpu(labels))}


def judge_state(boards: set[str], printed_boards: set[str], measured_boards: set[str]) -> State:
    if not printed_boards:
        return "missing"
    if not measured_boards:
        return "blank"
    return "present" if measured_boards >= boards else "partial"


def find_problems(names: set[str], verdicts: Sequence[Verdict]) -> Iterator[str]:
    words = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    for verdict in verdicts:
        if verdict.outcome != "ok" and any(words.search(text) for text in verdict.names):
            yield verdict.message


def judge_fields(states: Sequence[FieldState]) -> Verdict:
    """Judge whether the fields that something reads are there. A missing one is no fault: boards differ."""
    read = [state for state in states if state.dependents != NO_DEPENDENTS]
    missing = tuple(state.name for state in read if state.state in ("missing", "blank"))
    message = f"{len(read) - len(missing)} of {len(read)} fields that commands, alerts or dashboards read"
    return Verdict("fields", "unknown" if missing else "ok", message, missing)

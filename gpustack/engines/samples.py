"""Values of fields as a host engine measures them now, from the table of `dcgmi dmon`, which has no JSON.

DCGM 4.6.0, dcgmi/DeviceMonitor.cpp: SetHeaderForOutput (a column begins where its name begins in the line `#Entity`),
PrintMetricsRow (`GPU 0`, `GPU_I 1`; a field without a value is blank), `N/A` for a blank number, and `...` at the end
of a text that does not fit. The watch that it sets in the engine ends with it. It was never seen live.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpustack.config.complaint import suggest_nearest
from gpustack.engines.call import Reply
from gpustack.errors import InputError
from gpustack.vocabulary.fields import EXPORTER, Field, find_fields, index_fields

HEADER, WORD, CUT = "#Entity", re.compile(r"\S+"), "..."
ENTITY = re.compile(r"(GPU|GPU_I|GPU_CI|vGPU|Switch|CPU|CPU_CORE|LINK) (\d+)")
ROUNDS = "2"
"""A field of profiling has its first value after the first interval."""


@dataclass(frozen=True)
class Sample:
    """Hold the value of a field. `value` is empty where there is none, or it did not fit. `unit` is that of DCGM's
    field."""

    node: str
    entity: str
    field: str
    value: str
    unit: str


def choose_fields(words: Sequence[str]) -> tuple[Field, ...]:
    """Choose the fields of these words. Raise InputError for a word that names no field of DCGM, or several."""
    matches = [(word, [field for field in find_fields(word) if field.id != EXPORTER]) for word in words]
    if unclear_words := [word for word, candidates in matches if len(candidates) != 1]:
        reason = "Give the name in any spelling, or the id if several fields share it."
        suggestion = suggest_nearest([word for word in unclear_words if not find_fields(word)], list(index_fields()))
        message = f"{', '.join(unclear_words)} names no field of DCGM, or several."
        raise InputError("gpu-no-field", message, "\n".join(filter(None, (suggestion, reason))))
    return tuple(candidates[0] for _, candidates in matches)


def build_options(fields: Sequence[Field], milliseconds: int) -> tuple[str, ...]:
    ids = ",".join(field.id for field in fields)
    return ("dmon", "--field-id", ids, "--delay", str(milliseconds), "--count", ROUNDS)


def parse_samples(reply: Reply, fields: Sequence[Field]) -> Iterator[Sample]:
    """Parse the last row of each entity. Raise ValueError where the header has not these fields."""
    starts, rows = list[int](), dict[str, list[str]]()
    for line in reply.stdout.splitlines():
        if line.startswith(HEADER):
            starts = [match.start() for match in WORD.finditer(line)][1:]
        elif starts and (match := ENTITY.match(line)):
            ends = [*starts[1:], None]
            rows[match[0]] = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    if len(starts) != len(fields):
        raise ValueError(f"{len(starts)} columns for {len(fields)} fields")
    for entity, values in rows.items():
        for field, value in zip(fields, values, strict=True):
            whole_value = "" if value == "N/A" or value.endswith(CUT) else value
            yield Sample(reply.node, entity, field.name, whole_value, field.unit)

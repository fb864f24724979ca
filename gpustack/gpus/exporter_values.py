"""Checks of values: whether their types, units and numbers are what the fields of DCGM are."""

from collections.abc import Iterator, Sequence

from gpustack.events import format_count
from gpustack.gpus.verdict import Verdict, build_verdict
from gpustack.metrics.exposition import Family
from gpustack.metrics.readings import resolve_field
from gpustack.vocabulary.fields import MEMORY_TEMPERATURE, Field, lacks_sensor
from gpustack.vocabulary.units import convert_to_base, find_unit

# TYPE of each kind of field: what keeps the last code, or has bits, is no counter.
TYPES = {"gauge": "gauge", "event": "gauge", "bitmask": "gauge", "info": "gauge", "counter": "counter"}
# Words in a HELP text that are wrong for a unit. Exporters shipped them: docs/decisions/0015-metrics.md.
WRONG_HELP = {"ratio 0..1": ("(in %)", "percent"), "ns": ("(in us)", "microseconds"), "bytes/s": ("counter",)}


def list_known_families(families: Sequence[Family]) -> Iterator[tuple[Family, Field]]:
    for family in families:
        if field := resolve_field(family.name, (family.help,)):
            yield family, field


def check_types(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check the types: rate() over a rate, and a counter that falls, make nonsense."""
    wrong = [
        f"{family.name} is a {field.kind}, typed {family.kind}"
        for family, field in list_known_families(families)
        if field.kind in TYPES and family.kind != TYPES[field.kind]
    ]
    yield from build_verdict("types", wrong, "Metrics have another TYPE than what they are.", "as the fields are")


def check_units(families: Sequence[Family]) -> Iterator[Verdict]:
    wrong = [
        f"{family.name} is in {field.unit}: {family.help!r}"
        for family, field in list_known_families(families)
        if any(word in family.help.lower() for word in WRONG_HELP.get(field.unit, ()))
    ]
    yield from build_verdict("units", wrong, "HELP names another unit than that of the field.", "as HELP says")


def check_blanks(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check for blank values, which current exporters leave out, and for a sensor that is not there."""
    wrong, sensorless = [], 0
    for family, field in list_known_families(families):
        values = [series.points[-1][1] for series in family.series]
        sensorless += sum(lacks_sensor(field, value) for value in values)
        if any(convert_to_base(find_unit(field.unit), value) is None for value in values):
            wrong.append(family.name)
    if sensorless and not wrong:
        message = f"none, but {format_count(sensorless, 'GPU')} without a sensor: 0 is no temperature of a memory"
        yield Verdict("blanks", "ok", message, (MEMORY_TEMPERATURE,))
        return
    yield from build_verdict(
        "blanks", wrong, "Numbers stand for `not supported`, or are outside of the range of their unit.", "none"
    )

"""DCGM's fields by any of their spellings, with meaning, unit and limits of each.

The table is gpustack/versions/dcgm-fields.csv. A name alone does not always tell the field: DCGM_FI_DEV_GPU_UTIL_RATIO
is field 203 in DCGM 4.6 (0 to 100) and field 1613 in DCGM 4.7 (0 to 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.versions import read_rows
from gpustack.vocabulary.units import convert_to_base, find_unit

# Fields of DCGM 4.6.1 and later that say in base units what an older one says: by id.
TWINS = {"1611": "156", "1612": "191", "1613": "203", "1614": "204"}
TWINS |= {"1625": "250", "1626": "251", "1627": "252", "1628": "253"}
DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
EXPORTER = "exporter"  # in place of an id: the exporter computes it, DCGM does not know it
# DCGM leaves 0 in this one where the driver says `not supported`: it looks at the result of nvmlDeviceGetFieldValues,
# and not at that of the field (dcgmlib/src/DcgmCacheManager.cpp of DCGM 4.6). Recorded of T4, L4, L40S and vGPU guests.
MEMORY_TEMPERATURE = f"{DEV}MEMORY_TEMP"


@dataclass(frozen=True)
class Field:
    """Describe a field of DCGM. `id` is DCGM's, as text, or EXPORTER. `name` is the spelling of all exporters until
    4.8, `canonical` that since DCGM 4.6 where it differs. `unit` is that of `name`. `kind` is the real one: gauge,
    counter, event (the last code, which stays), bitmask, label or info; an exporter may call it otherwise. `absent`
    names the GPUs on which it has no value."""

    name: str
    id: str
    unit: str
    kind: str
    canonical: str
    absent: str
    meaning: str

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.name, self.canonical)))


@cache
def load_fields() -> tuple[Field, ...]:
    return tuple(Field(*row) for row in read_rows("dcgm-fields.csv"))


def find_original(field: Field) -> Field:
    """Find the older field that has the same meaning: values of all exporters are compared in its unit."""
    return find_fields(TWINS[field.id])[0] if field.id in TWINS else field


@cache
def list_spellings(names: frozenset[str]) -> tuple[str, ...]:
    """List all names that exporters have for these fields and their twins."""
    ids = {find_fields(name)[0].id for name in names}
    groups = (field.spellings for field in load_fields() if find_original(field).id in ids)
    return tuple(dict.fromkeys(spelling for spellings in groups for spelling in spellings))


@cache
def index_fields() -> Mapping[str, tuple[Field, ...]]:
    """Index the fields by the words that people use: either spelling, the id, or a spelling without its prefix, in
    capitals."""
    index: dict[str, tuple[Field, ...]] = {}
    for field in load_fields():
        words = [*field.spellings, *(strip_prefix(spelling) for spelling in field.spellings)]
        for word in dict.fromkeys([*words, field.id]):
            if word != EXPORTER:
                index[word] = (*index.get(word, ()), field)
    return index


def lacks_sensor(field: Field, value: float) -> bool:
    """Tell whether a value only stands for a sensor that the board lacks."""
    return field.name == MEMORY_TEMPERATURE and value == 0


def convert_value(field: Field, value: float) -> float | None:
    """Convert a value of a field to its base unit. Return None for a blank value, and for one that no sensor
    measured."""
    return None if lacks_sensor(field, value) else convert_to_base(find_unit(field.unit), value)


def extract_sentence(field: Field) -> str:
    """Extract the first sentence of the meaning of a field, without its period."""
    return field.meaning.partition(". ")[0].rstrip(".")


def strip_prefix(spelling: str) -> str:
    """Strip the prefix of a spelling: `SM_ACTIVE` of DCGM_FI_PROF_SM_ACTIVE."""
    for prefix in (DEV, PROF, "DCGM_EXP_", "DCGM_FI_"):
        if spelling.startswith(prefix):
            return spelling.removeprefix(prefix)
    return spelling


def find_fields(word: str) -> tuple[Field, ...]:
    """Find the fields that a word may mean: mostly one, and none for a word that names no field."""
    return index_fields().get(word.strip().upper(), ())


def is_ambiguous(metric: str) -> bool:
    """Tell whether several fields have this name, so that only the exporter's help text can tell them apart."""
    return len(find_fields(metric)) > 1

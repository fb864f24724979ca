"""DCGM's fields, by any of their spellings: what each measures, in which unit, and what it does not say.

The table is gpustack/versions/dcgm-fields.csv. A name alone does not always tell the field: DCGM_FI_DEV_GPU_UTIL_RATIO
is field 203 in DCGM 4.6 (0 to 100) and field 1613 in DCGM 4.7 (0 to 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.versions import rows

# Fields of DCGM 4.6.1 and later that say in base units what an older one says: by id.
TWINS = {"1611": "156", "1612": "191", "1613": "203", "1614": "204"}
TWINS |= {"1625": "250", "1626": "251", "1627": "252", "1628": "253"}
DEV, PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"
EXPORTER = "exporter"  # in place of an id: the exporter computes it, DCGM does not know it


@dataclass(frozen=True)
class Field:
    """`id` is DCGM's, as text, or EXPORTER. `name` is the spelling of all exporters until 4.8, `canonical` that since
    DCGM 4.6 where it differs. `unit` is that of `name`. `kind` is what it really is: gauge, counter, event (the last
    code, kept), bitmask, label or info; an exporter may call it otherwise. `absent`: where it has no value."""

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
def fields() -> tuple[Field, ...]:
    return tuple(Field(*row) for row in rows("dcgm-fields.csv"))


def original(field: Field) -> Field:
    """The field that says the same in the unit of old: what a value is compared with, whoever exported it."""
    return find_fields(TWINS[field.id])[0] if field.id in TWINS else field


@cache
def spellings(names: frozenset[str]) -> tuple[str, ...]:
    """All that exporters call these fields, and their twins."""
    wanted = {find_fields(name)[0].id for name in names}
    found = (field.spellings for field in fields() if original(field).id in wanted)
    return tuple(dict.fromkeys(spelling for each in found for spelling in each))


@cache
def by_word() -> Mapping[str, tuple[Field, ...]]:
    """Fields by what people call them: either spelling, the id, or a spelling without its prefix, in capitals."""
    found: dict[str, tuple[Field, ...]] = {}
    for field in fields():
        words = [*field.spellings, *(short(spelling) for spelling in field.spellings)]
        for word in dict.fromkeys([*words, field.id]):
            if word != EXPORTER:
                found[word] = (*found.get(word, ()), field)
    return found


def first_sentence(field: Field) -> str:
    """Of its meaning."""
    return field.meaning.partition(". ")[0].rstrip(".")


def short(spelling: str) -> str:
    """`SM_ACTIVE` of DCGM_FI_PROF_SM_ACTIVE."""
    for prefix in (DEV, PROF, "DCGM_EXP_", "DCGM_FI_"):
        if spelling.startswith(prefix):
            return spelling.removeprefix(prefix)
    return spelling


def find_fields(word: str) -> tuple[Field, ...]:
    """The fields that a word may mean, mostly one; none for a word that is no field's."""
    return by_word().get(word.strip().upper(), ())


def is_ambiguous(metric: str) -> bool:
    """Whether several fields have this name, so that only what the exporter says of it can tell which it is."""
    return len(find_fields(metric)) > 1

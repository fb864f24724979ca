"""`gpu check-exporter` judges whether the metrics of an exporter can be relied on.

It checks names, labels, types, units, blanks, duplicate series, the mapping to pods, and how often values are new.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from gpustack.exit_status import ExitStatus, select_status
from gpustack.metrics.exposition import Family
from gpustack.metrics.gpus import extract_gpu, extract_owner
from gpustack.metrics.readings import APART, resolve_field
from gpustack.vocabulary.fields import TWINS, Field
from gpustack.vocabulary.units import convert_to_base, find_unit

Outcome = Literal["ok", "wrong", "unknown"]
PREFIX = "DCGM_"
# TYPE of each kind of field: what keeps the last code, or has bits, is no counter.
TYPES = {"gauge": "gauge", "event": "gauge", "bitmask": "gauge", "info": "gauge", "counter": "counter"}
NEEDED = ("gpu", "UUID", "modelName")
COLLECTED = 35
HOSTS = ("Hostname", "hostname")
# Words in a HELP text that are wrong for a unit. Exporters shipped them: docs/decisions/0015-metrics.md.
WRONG_HELP = {"ratio 0..1": ("(in %)", "percent"), "ns": ("(in us)", "microseconds"), "bytes/s": ("counter",)}


@dataclass(frozen=True)
class Verdict:
    """Hold the outcome of a check. `message` is a sentence about it; `names` are some of the metrics or GPUs that it is
    about."""

    check: str
    outcome: Outcome
    message: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    url: str
    families: int
    gpus: int
    verdicts: tuple[Verdict, ...]

    @property
    def kept(self) -> bool:
        return all(verdict.outcome != "wrong" for verdict in self.verdicts)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(differs=not self.kept)


def judge_exporter(url: str, first: Sequence[Family], later: Sequence[Family] | None, interval: float) -> Contract:
    """Judge an exporter. `later` are its metrics `interval` seconds after the first ones, None where it was asked
    once."""
    families = [family for family in first if family.name.startswith(PREFIX)]
    gpus = {gpu.key for family in families for series in family.series if (gpu := extract_gpu(series.labels))}
    if not gpus:
        none = Verdict("names", "wrong", "It prints no metric of any GPU.")
        return Contract(url, len(first), 0, (none,))
    checks: tuple[Callable[[Sequence[Family]], Iterator[Verdict]], ...]
    checks = (check_names, check_labels, check_types, check_units, check_blanks, check_twice, check_pods)
    verdicts = [verdict for check in checks for verdict in check(families)]
    verdicts += check_cadence(families, later, interval)
    return Contract(url, len(first), len(gpus), tuple(verdicts))


def list_known_families(families: Sequence[Family]) -> Iterator[tuple[Family, Field]]:
    for family in families:
        if field := resolve_field(family.name, (family.help,)):
            yield family, field


def build_verdict(check: str, wrong: Sequence[str], bad: str, good: str) -> Iterator[Verdict]:
    yield Verdict(check, "wrong", bad, tuple(wrong)) if wrong else Verdict(check, "ok", good)


def check_names(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check the generation of the names; a custom list of counters can mix several."""
    kinds: Counter[str] = Counter()
    strange = []
    for family in families:
        field = resolve_field(family.name, (family.help,))
        if field is None:
            strange.append(family.name)
        elif field.id in TWINS or field.canonical:
            kinds["4.7" if field.id in TWINS else "4.6" if family.name == field.canonical else "old"] += 1
    if strange:
        yield Verdict("names", "unknown", "The field of some names is not known.", tuple(strange))
    words = {"old": "names of old", "4.6": "names of DCGM 4.6", "4.7": "fields of DCGM 4.7 in base units"}
    if kinds:
        yield Verdict("names", "ok", ", ".join(f"{number} {words[kind]}" for kind, number in kinds.items()))
    elif not strange:
        yield Verdict("names", "ok", "the same in all generations")


def check_labels(families: Sequence[Family]) -> Iterator[Verdict]:
    lacking: Counter[str] = Counter()
    for family in families:
        for series in family.series:
            if extract_gpu(series.labels):
                lacking.update(label for label in NEEDED if not series.labels.get(label))
                lacking.update(["Hostname"] if not any(series.labels.get(host) for host in HOSTS) else [])
    wrong = [f"{label} ({number} series)" for label, number in sorted(lacking.items())]
    yield from build_verdict(
        "labels", wrong, "Series lack labels by which a GPU is found again.", "GPU, UUID, model and host"
    )


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
    """Check for blank values, which current exporters leave out."""
    wrong = [
        family.name
        for family, field in list_known_families(families)
        if any(convert_to_base(find_unit(field.unit), series.points[-1][1]) is None for series in family.series)
    ]
    yield from build_verdict("blanks", wrong, "Values that mean `not supported` are printed as numbers.", "none")


def check_twice(families: Sequence[Family]) -> Iterator[Verdict]:
    keys: Counter[tuple[object, ...]] = Counter()
    for family in families:
        for series in family.series:
            if gpu := extract_gpu(series.labels):
                keys[family.name, *gpu.key, *(series.labels.get(label) for label in APART)] += 1
    wrong = sorted({f"{key[0]} of {key[1]}" for key, number in keys.items() if number > 1})
    yield from build_verdict("duplicates", wrong, "A GPU has several series of one metric.", "none")


def check_pods(families: Sequence[Family]) -> Iterator[Verdict]:
    """Check the mapping to pods. Without any GPU in use it looks the same as an exporter that does not ask the
    kubelet."""
    owners = {extract_owner(series.labels) for family in families for series in family.series} - {None}
    if owners:
        yield Verdict("pods", "ok", f"GPUs of {len(owners)} pods")
    else:
        yield Verdict("pods", "unknown", "No GPU is in use, or the exporter does not ask the kubelet whose it is.")


def check_cadence(first: Sequence[Family], later: Sequence[Family] | None, interval: float) -> Iterator[Verdict]:
    if later is None:
        yield Verdict("cadence", "unknown", "It was asked once: only a later answer tells whether values are new.")
        return
    if interval < COLLECTED:
        yield Verdict("cadence", "unknown", f"Exporters collect every 30 s: ask again after {COLLECTED} s at least.")
        return
    before, after = index_values(first), index_values(later)
    both = before.keys() & after.keys()
    still = sorted({key[0] for key in both} - {key[0] for key in both if after[key] != before[key]})
    if not both:
        yield Verdict("cadence", "unknown", "Another exporter answered the second time.")
    else:
        yield from build_verdict(
            "cadence", still, f"Nothing of a GPU changed within {interval:.0f} s.", "values are new"
        )


def index_values(families: Sequence[Family]) -> dict[tuple[str, object], float]:
    """Index finite values by GPU and series, because NaN never counts as a new value."""
    series = (entry for family in families for entry in family.series if isfinite(entry.points[-1][1]))
    return {
        (gpu.uuid or gpu.index, tuple(sorted(sample.labels.items()))): sample.points[-1][1]
        for sample in series
        if (gpu := extract_gpu(sample.labels))
    }

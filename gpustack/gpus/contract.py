"""`gpu check-exporter` judges whether the metrics of an exporter can be relied on.

It checks the format, names, labels, types, units, blanks, duplicate series, profiling fields, contradictions, the
mapping to pods, how often values are new, which fields are there for the commands, alerts and dashboards that read
them, and which alerts cannot fire.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gpustack.exit_status import ExitStatus, select_status
from gpustack.gpus.dependents import Readers, list_dependents
from gpustack.gpus.exporter_contradictions import check_contradictions
from gpustack.gpus.exporter_devices import check_cadence, check_pods, check_profiling, list_page_devices
from gpustack.gpus.exporter_labels import (
    OLDEST_PREFIX,
    PREFIX,
    check_format,
    check_hosts,
    check_instances,
    check_labels,
    check_names,
    check_twice,
)
from gpustack.gpus.exporter_values import check_blanks, check_types, check_units
from gpustack.gpus.field_states import FieldState, judge_fields, list_field_states
from gpustack.gpus.silent_alerts import SilentAlert, judge_alerts, list_silent_alerts
from gpustack.gpus.verdict import Verdict
from gpustack.metrics.exposition import Family, Page
from gpustack.metrics.gpus import extract_gpu

NO_READERS: Mapping[str, frozenset[str]] = MappingProxyType({})
PAGE_CHECKS = (check_instances, check_types, check_units, check_blanks, check_twice)
VALUE_CHECKS = (check_profiling, check_contradictions, check_pods)


@dataclass(frozen=True)
class Contract:
    """Hold the judgement of an exporter. `gpus` counts boards, and `instances` their MIG instances."""

    url: str
    families: int
    gpus: int
    instances: int
    verdicts: tuple[Verdict, ...]
    fields: tuple[FieldState, ...] = ()
    silent_alerts: tuple[SilentAlert, ...] = ()

    @property
    def kept(self) -> bool:
        return all(verdict.outcome != "wrong" for verdict in self.verdicts)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(differs=not self.kept)


def judge_exporter(
    url: str,
    first: Page,
    later: Page | None,
    interval: float,
    commands: Readers = NO_READERS,
    *,
    node_names: Collection[str] = (),
) -> Contract:
    """Judge an exporter. `later` are its metrics `interval` seconds after the first ones, None where it was asked
    once. `commands` are the names of metrics that commands query. `node_names` are the nodes of the cluster, none where
    no cluster was asked."""
    families = select_families(first)
    gpus = [gpu for family in families for series in family.series if (gpu := extract_gpu(series.labels))]
    counts = (len(first.families), len({gpu.key[0] for gpu in gpus}), len({gpu.key for gpu in gpus if gpu.instance}))
    verdicts = list(check_format(first))
    if not gpus:
        no_gpu_verdict = Verdict("names", "wrong", "It prints no metric of any GPU.")
        return Contract(url, *counts, (*verdicts, no_gpu_verdict))
    verdicts += check_names(families)
    current = select_current(families)
    if not current:
        return Contract(url, *counts, tuple(verdicts))
    verdicts += [*check_labels(current), *check_hosts(current, node_names)]
    verdicts += [verdict for check in PAGE_CHECKS for verdict in check(current)]
    newest = select_current(select_families(later or first))
    devices = list_page_devices(newest)
    verdicts += [verdict for check in VALUE_CHECKS for verdict in check(devices)]
    verdicts += check_cadence(current, newest if later else None, interval)
    fields = list_field_states(newest, list_dependents(commands), verdicts)
    alerts = list_silent_alerts(newest, verdicts)
    return Contract(url, *counts, (*verdicts, judge_fields(fields), judge_alerts(alerts)), fields, alerts)


def select_families(page: Page) -> list[Family]:
    """Select the metrics of dcgm-exporter that have a series, of any generation."""
    return [family for family in page.families if family.series and family.name.startswith((PREFIX, OLDEST_PREFIX))]


def select_current(families: Sequence[Family]) -> list[Family]:
    return [family for family in families if not family.name.startswith(OLDEST_PREFIX)]

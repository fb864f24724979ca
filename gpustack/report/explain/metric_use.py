"""Parts of the pages of metrics: the meaning of values, and the alerts, panels and verdicts that read them."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill

from gpustack.profile.window import QUANTITIES
from gpustack.report.explain.width import compute_width, wrap_text
from gpustack.vocabulary.alert_needs import load_alert_needs
from gpustack.vocabulary.fields import Field, find_original, list_spellings
from gpustack.vocabulary.guidance import load_guidance
from gpustack.vocabulary.recorded_series import RecordedSeries, index_alerts, index_panels, load_recorded_series

INDENT = 10
RULES = "values/rules/gpu-recording.yaml"


def render_guidance(field: Field) -> Iterator[str]:
    """Render the meaning of the values of a field, and the quantity that its id is confused with."""
    if guidance := load_guidance().get(field.name):
        rows = (("Usual", guidance.usual), ("High", guidance.high), ("Low", guidance.low), ("Do", guidance.action))
        yield from render_rows(rows)
        if guidance.confusion:
            text = f"Tutorials give id {field.id} for {guidance.confusion}."
            yield from render_rows([("Confusion", text)])


def render_use(field: Field) -> Iterator[str]:
    """Render the recorded series that are of this field alone, and the alerts, panels and verdicts that read it."""
    spellings = set(list_spellings(frozenset({find_original(field).name})))
    series = [rule.name for rule in load_recorded_series().values() if rule.sources and spellings >= {*rule.sources}]
    alerts = [alert for alert, needs in load_alert_needs().items() if any(field.name in words for words in needs)]
    quantity = next((name for name, metric in QUANTITIES.items() if metric == field.name), "")
    verdicts = f"{quantity} of `gpustack profile analyze`; limits: gpustack profile thresholds" if quantity else ""
    panels = list_readers(index_panels().get(name, ()) for name in (*field.spellings, *series))
    yield from render_rows(
        (
            ("Recorded", ", ".join(series)),
            ("Alerts", ", ".join(alerts)),
            ("Panels", "; ".join(panels)),
            ("Verdicts", verdicts),
        )
    )


def render_recorded_series(series: RecordedSeries) -> Iterator[str]:
    """Render the page of a recorded series."""
    yield f"{series.name}: recorded by gpustack, every {series.interval}\n"
    if series.meaning:
        yield wrap_text(series.meaning) + "\n"
    yield from render_rows(
        (
            ("Unit", series.unit),
            ("From", ", ".join(series.sources)),
            ("Alerts", ", ".join(index_alerts().get(series.name, ()))),
            ("Panels", "; ".join(index_panels().get(series.name, ()))),
            ("Source", RULES),
        )
    )
    yield ""


def list_readers(groups: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(reader for group in groups for reader in group))


def render_rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Render the rows that have a text, wrapped behind their names."""
    for name, text in rows:
        if text:
            first = name.ljust(INDENT)
            yield fill(
                text,
                compute_width(),
                initial_indent=first,
                subsequent_indent=" " * INDENT,
                break_long_words=False,
                break_on_hyphens=False,
            )

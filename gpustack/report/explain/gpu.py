"""The pages of DCGM's fields and of Xids."""

from collections.abc import Iterator
from textwrap import fill

from gpustack.command import Command
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.errors import UsageError
from gpustack.report.explain.metric_use import render_guidance, render_recorded_series, render_use
from gpustack.report.explain.width import compute_width, wrap_text
from gpustack.vocabulary.doctor_metrics import DOCTOR_METRICS
from gpustack.vocabulary.fields import EXPORTER, Field, extract_sentence, find_fields, index_fields, load_fields
from gpustack.vocabulary.guidance import WrongId, load_wrong_ids
from gpustack.vocabulary.recorded_series import load_recorded_series
from gpustack.vocabulary.xids import ACTIONS, SOURCE, Xid, load_xids

METRIC, XID = "metric", "xid"
RECORDED_PREFIX = "gpustack:"
EXPORTER_URL = "https://github.com/NVIDIA/dcgm-exporter/tree/main/internal/pkg/collector"
FIELDS_URL = "https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html"
KIND_TEXTS = {
    "counter": "counter: use rate() or increase()",
    "gauge": "gauge: no rate() or increase()",
    "event": "gauge that keeps the last code: no rate() or increase()",
    "bitmask": "gauge whose bits are reasons",
    "label": "label on every series of the exporter",
    "info": "gauge that does not change",
}


def find_kinds(topic: str) -> list[str]:
    """Find the kinds of pages that a name or number without its kind can be of: METRIC, XID, or both."""
    code = topic.lower().removeprefix(XID)
    is_code = code.isascii() and code.isdigit() and len(code) < 7 and int(code) in load_xids()
    is_metric = (
        normalize_metric(topic) in index_fields()
        or bool(find_fields(normalize_metric(topic)))
        or topic in DOCTOR_METRICS
        or topic in load_recorded_series()
        or topic in load_wrong_ids()
    )
    return [kind for kind, matches in ((XID, is_code), (METRIC, is_metric)) if matches]


def normalize_metric(query: str) -> str:
    return query.strip().upper().replace("-", "_").replace(" ", "_")


def explain_metric(query: str) -> str:
    """Return the page of a field by any of its spellings or its id; an empty query lists all fields. Raise
    UsageError for an unknown field."""
    if not query:
        return "".join(f"  {field.name}  {extract_sentence(field)}\n" for field in load_fields())
    if meaning := DOCTOR_METRICS.get(query.strip().lower()):
        return f"{query.strip().lower()}: written by gpustack doctor\n\n{fill(meaning, compute_width())}\n"
    if series := load_recorded_series().get(query.strip()):
        return "\n".join(render_recorded_series(series))
    spelling = normalize_metric(query)
    if matches := find_fields(spelling):
        return "\n".join(line for field in matches for line in render_field(field))
    if wrong := load_wrong_ids().get(spelling):
        return "\n".join(render_wrong_id(wrong))
    suggestion = find_similar_metric(query.strip(), spelling)
    raise UsageError(
        "unknown-page",
        f"There is no metric {query} of DCGM or dcgm-exporter.",
        suggest_nearest([suggestion], [suggestion]),
        Command("gpustack", "explain", "metric", *([suggestion] if suggestion else [])),
    )


def find_similar_metric(query: str, spelling: str) -> str:
    """Find the metric that was meant. An id that is near another one says nothing of it."""
    if query.startswith(RECORDED_PREFIX):
        return find_nearest(query, list(load_recorded_series()))
    names = [name for name in index_fields() if not name.isdecimal()]
    return find_nearest(spelling, names) or next((name for name in names if spelling in name), "")


def explain_xid(code: str) -> str:
    """Return the page of an Xid; an empty code lists all of them. Raise UsageError for an unknown code."""
    code = code.lower().removeprefix(XID)
    if not code:
        return "".join(f"  {xid.code:3}  {xid.severity:8}  {xid.name}\n" for xid in load_xids().values())
    if code.isascii() and code.isdigit() and len(code) < 7 and (xid := load_xids().get(int(code))):
        return "\n".join(render_xid(xid))
    reason = f"Known are {min(load_xids())} to {max(load_xids())}; a newer driver may have more: {SOURCE}"
    raise UsageError("unknown-page", f"There is no Xid {code}.", reason, Command("gpustack", "explain", "xid"))


def render_field(field: Field) -> Iterator[str]:
    yield f"{field.name}: {'of dcgm-exporter' if field.id == EXPORTER else f'field {field.id} of DCGM'}\n"
    yield wrap_text(field.meaning)
    yield ""
    yield f"Unit      {field.unit}"
    yield f"Kind      {KIND_TEXTS[field.kind]}"
    if field.canonical:
        yield f"Also      {field.canonical} (since DCGM 4.6)"
    if field.absent:
        yield fill(f"Absent    {field.absent}", compute_width(), subsequent_indent=" " * 10)
    yield from render_guidance(field)
    yield from render_use(field)
    yield f"Source    {EXPORTER_URL if field.id == EXPORTER else FIELDS_URL}"
    yield ""


def render_wrong_id(wrong: WrongId) -> Iterator[str]:
    (field,) = find_fields(wrong.right)
    yield f"{wrong.id}: no field of DCGM that gpustack reads\n"
    yield wrap_text(f"{wrong.actual} Tutorials give id {wrong.id} for {wrong.confusion}; that is id {field.id}.")
    yield f"\nMore\n  gpustack explain metric {field.name}\n"


def render_xid(xid: Xid) -> Iterator[str]:
    yield f"Xid {xid.code}: {xid.name}\n"
    yield f"Severity  {xid.severity}, {xid.kind}"
    yield fill(f"Do        {ACTIONS[xid.action]}", compute_width(), subsequent_indent=" " * 10)
    if xid.note:
        yield fill(f"          {xid.note}", compute_width(), subsequent_indent=" " * 10)
    yield f"Source    {SOURCE}"
    yield ""

"""The pages of DCGM's fields and of Xids."""

from collections.abc import Iterator
from textwrap import fill

from gpustack.command import Command
from gpustack.config.complaint import nearest
from gpustack.errors import UsageError
from gpustack.metrics.fields import EXPORTER, Field, by_word, fields, find_fields, first_sentence
from gpustack.metrics.xids import ACTIONS, SOURCE, Xid, xids

WIDTH = 80
METRIC, XID = "metric", "xid"
EXPORTED = "https://github.com/NVIDIA/dcgm-exporter/tree/main/internal/pkg/collector"
FIELDS = "https://docs.nvidia.com/datacenter/dcgm/latest/dcgm-api/dcgm-api-field-ids.html"
CALLED = {
    "counter": "counter: use rate() or increase()",
    "gauge": "gauge: no rate() or increase()",
    "event": "gauge that keeps the last code: no rate() or increase()",
    "bitmask": "gauge whose bits are reasons",
    "label": "label on every series of the exporter",
    "info": "gauge that does not change",
}


def explain_metric(word: str) -> str:
    """The page of a field by any of its spellings, or by its id; all fields without a word. Raises UsageError."""
    if not word:
        return "".join(f"  {field.name}  {first_sentence(field)}\n" for field in fields())
    spelled = word.strip().upper().replace("-", "_").replace(" ", "_")
    if found := find_fields(spelled):
        return "\n".join(line for field in found for line in of_field(field))
    near = nearest(spelled, list(by_word())) or next((name for name in by_word() if spelled in name), "")
    raise UsageError(
        "unknown-page",
        f"There is no metric {word} of DCGM or dcgm-exporter.",
        f"Did you mean {near}?" if near else "",
        Command("gpustack", "explain", "metric", *([near] if near else [])),
    )


def explain_xid(word: str) -> str:
    """The page of an Xid; all of them without a word. Raises UsageError."""
    if not word:
        return "".join(f"  {xid.code:3}  {xid.severity:8}  {xid.name}\n" for xid in xids().values())
    if word.isascii() and word.isdigit() and len(word) < 7 and (found := xids().get(int(word))):
        return "\n".join(of_xid(found))
    why = f"Known are {min(xids())} to {max(xids())}; a newer driver may have more: {SOURCE}"
    raise UsageError("unknown-page", f"There is no Xid {word}.", why, Command("gpustack", "explain", "xid"))


def of_field(field: Field) -> Iterator[str]:
    yield f"{field.name}: {'of dcgm-exporter' if field.id == EXPORTER else f'field {field.id} of DCGM'}\n"
    yield fill(field.meaning, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield ""
    yield f"Unit      {field.unit}"
    yield f"Kind      {CALLED[field.kind]}"
    if field.canonical:
        yield f"Also      {field.canonical} (since DCGM 4.6)"
    if field.absent:
        yield fill(f"Absent    {field.absent}", WIDTH, subsequent_indent=" " * 10)
    yield f"Source    {EXPORTED if field.id == EXPORTER else FIELDS}"
    yield ""


def of_xid(xid: Xid) -> Iterator[str]:
    yield f"Xid {xid.code}: {xid.name}\n"
    yield f"Severity  {xid.severity}, {xid.kind}"
    yield fill(f"Do        {ACTIONS[xid.action]}", WIDTH, subsequent_indent=" " * 10)
    if xid.note:
        yield fill(f"          {xid.note}", WIDTH, subsequent_indent=" " * 10)
    yield f"Source    {SOURCE}"
    yield ""

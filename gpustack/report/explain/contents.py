"""The list of all pages, and the pages that words find: by id, by number, or by words of a name and title."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gpustack.command import Command
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.report.explain.alerts import read_alerts
from gpustack.report.explain.classes import list_classes, render_class
from gpustack.report.explain.documents import find_lines, list_chapters, list_documents, list_lines
from gpustack.report.explain.faults import list_faults, list_states
from gpustack.report.explain.gpu import METRIC, XID, explain_metric, explain_xid, find_kinds
from gpustack.report.explain.messages import find_messages, list_messages
from gpustack.report.explain.nearest import find_nearest_pages, fold_words
from gpustack.report.explain.pages import (
    extract_summary,
    find_checks,
    find_page,
    list_checks,
    list_steps,
    read_error_pages,
)
from gpustack.report.explain.probes import list_probe_commands, render_probe
from gpustack.report.explain.settings import read_settings, render_setting
from gpustack.report.explain.width import format_page_entry
from gpustack.vocabulary.fields import extract_sentence, load_fields
from gpustack.vocabulary.xids import load_xids

EXIT_CODES = "exit-codes"
EXIT_CODE = re.compile(r"exit[ -](?:code|status)? ?(\d{1,3})")
SENTENCE_END = re.compile(r"\.(?: |$)")
NEAREST = "No page has all of these words. The nearest:"
READERS = {METRIC: explain_metric, XID: explain_xid}
NUMBERED_KINDS = {"metrics": METRIC, "xids": XID}
PROBES = "probes"
HEADINGS = {
    "steps": "Steps, in the order in which they are installed",
    "checks": "Checks",
    "alerts": "Alerts",
    "faults": "Faults that the doctor knows",
    "states": "States that several faults lead to",
    "classes": "Classes of `gpustack profile analyze`",
    "errors": "Errors",
    "scripts": "Scripts",
    "settings": "Settings, which the inventory has",
    "documents": "Documents",
}
"""Each kind of page, and its heading in the list of all. Metrics, Xids and probes are too many for that list."""


def list_sections() -> Mapping[str, Mapping[str, str]]:
    """List the titles of pages by name, by the kinds of HEADINGS."""
    return {
        "steps": list_steps(),
        "checks": {name: extract_summary(check.__doc__ or "") for name, (_, check) in list_checks().items()},
        "alerts": {name: alert.name for name, alert in read_alerts().items()},
        "faults": {name: fault.title for name, fault in list_faults().items()},
        "states": {name: state.title for name, state in list_states().items()},
        "classes": list_classes(),
        "errors": {reference: page.title for reference, page in sorted(read_error_pages().items())},
        "scripts": {EXIT_CODES: "The exit codes of all commands"},
        "settings": {key: setting.meaning for key, setting in read_settings().items()},
        "documents": list_documents(),
    }


def list_numbered_pages() -> Iterator[tuple[str, str]]:
    """List the pages of metrics and Xids, as name and title."""
    yield from ((f"{METRIC} {field.name}", extract_sentence(field)) for field in load_fields())
    yield from ((f"{XID} {code}", xid.name) for code, xid in load_xids().items())


def render_contents() -> str:
    """Render the list of all pages but those of metrics, Xids and probes, by kind."""
    return "\n".join(f"{HEADINGS[kind]}\n{render_list(kind)}" for kind in list_sections())


def render_list(kind: str) -> str:
    """Render the pages of a kind: the name, and the first sentence of the title."""
    if prefix := NUMBERED_KINDS.get(kind):
        entries = [(name, title) for name, title in list_numbered_pages() if name.startswith(f"{prefix} ")]
    elif kind == PROBES:
        entries = list(list_probe_commands().items())
    else:
        entries = list(list_sections()[kind].items())
    width = max(len(name) for name, _ in entries)
    titles = {name: title if kind == PROBES else SENTENCE_END.split(title)[0] for name, title in entries}
    return "".join(f"{format_page_entry(name, title, width)}\n" for name, title in titles.items())


def explain_topic(*words: str) -> str:
    """Return the page with this name or number, or a list of the pages that have all the words: in their name or title,
    or else in a message, and of the documents that have them in a line. Where there is none, list the pages that have
    most of several words.

    Raise UsageError with the nearest spelling where there is no such page.
    """
    topic = " ".join(words)
    if statuses := find_statuses(topic):
        return "".join(f"  {status:3}  {status.meaning}\n" for status in statuses)
    if page := find_page(topic):
        return page
    if topic in list_classes():
        return "\n".join(render_class(topic))
    if kinds := find_kinds(topic):
        return "\n".join(READERS[kind](topic) for kind in kinds)
    if setting := read_settings().get(topic):
        return "\n".join(render_setting(topic, setting))
    if topic in list_probe_commands():
        return "\n".join(render_probe(topic))
    if entries := find_entries(words) or find_titles(topic) or [*find_messages(words), *find_lines(words)]:
        return format_entries(entries)
    # Of a single word the nearest spelling is named.
    if " " in topic and (entries := find_nearest_pages(topic, list_texts())):
        return f"{NEAREST}\n{format_entries(entries)}"
    names = [name for entries in list_sections().values() for name in entries]
    names += [*(alert.name for alert in read_alerts().values()), *list_probe_commands()]
    matches = find_checks(topic)
    reason = f"Several have this name: {', '.join(matches)}" if matches else suggest_nearest([topic], names)
    name = matches[0] if matches else find_nearest(topic, names)
    hint = Command("gpustack", "explain", *([name] if name else []))
    raise UsageError("unknown-page", f"There is no page {topic}.", reason, hint)


def format_entries(entries: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{format_page_entry(name, title)}\n" for name, title in entries)


def list_texts() -> list[tuple[str, str]]:
    """List the titles and messages of all pages and the lines of all documents, each with the name of its page."""
    return [*list_titles(), *list_messages(), *list_lines()]


def find_statuses(topic: str) -> list[ExitStatus]:
    """Find the exit statuses that a topic names: all of them, one by its number, or none."""
    if topic == EXIT_CODES:
        return sorted(ExitStatus)
    match = EXIT_CODE.fullmatch(topic)
    return [status for status in ExitStatus if match and status == int(match[1])]


def find_entries(words: Sequence[str]) -> list[tuple[str, str]]:
    """Find the pages whose name and title have all the words, whatever their case."""
    return [
        (name, title)
        for name, title in list_titles()
        if all(word.casefold() in f"{name} {title}".casefold() for word in words)
    ]


def find_titles(question: str) -> list[tuple[str, str]]:
    """Find the pages whose name and title have all words of a question but fillers, whatever their endings."""
    stems = fold_words(question)
    return [(name, title) for name, title in list_titles() if stems and stems <= fold_words(f"{name} {title}")]


def list_titles() -> list[tuple[str, str]]:
    """List the titles of all pages and chapters, each with the name of its page."""
    titles = [entry for section in list_sections().values() for entry in section.items()]
    return [*titles, *list_numbered_pages(), *list_chapters()]

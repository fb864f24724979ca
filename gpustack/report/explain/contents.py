"""The list of all pages, and the pages that words find: by id, by number, or by words of a name and title."""

from collections.abc import Iterator, Mapping, Sequence

from gpustack.command import Command
from gpustack.config.complaint import find_nearest, suggest_nearest
from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.report.explain.alerts import read_alerts
from gpustack.report.explain.faults import list_faults, list_states
from gpustack.report.explain.gpu import METRIC, XID, explain_metric, explain_xid, find_kinds
from gpustack.report.explain.pages import (
    extract_summary,
    find_checks,
    find_page,
    format_entry,
    list_checks,
    list_steps,
    read_error_pages,
)
from gpustack.vocabulary.fields import extract_sentence, load_fields
from gpustack.vocabulary.xids import load_xids

EXIT_CODES = "exit-codes"
READERS = {METRIC: explain_metric, XID: explain_xid}


def list_sections() -> Mapping[str, Mapping[str, str]]:
    """List the titles of pages by name, in sections."""
    return {
        "Steps, in the order in which they are installed": list_steps(),
        "Checks": {name: extract_summary(check.__doc__ or "") for name, (_, check) in list_checks().items()},
        "Alerts": {name: alert.name for name, alert in read_alerts().items()},
        "Faults that the doctor knows": {name: fault.title for name, fault in list_faults().items()},
        "States that several faults lead to": {name: state.title for name, state in list_states().items()},
        "Errors": {reference: page.title for reference, page in sorted(read_error_pages().items())},
        "Scripts": {EXIT_CODES: "The exit codes of all commands"},
    }


def list_numbered_pages() -> Iterator[tuple[str, str]]:
    """List the pages of metrics and Xids, as name and title. They are too many for the contents."""
    yield from ((f"{METRIC} {field.name}", extract_sentence(field)) for field in load_fields())
    yield from ((f"{XID} {code}", xid.name) for code, xid in load_xids().items())


def render_contents() -> str:
    """Render the list of all pages by name, each with its first sentence."""
    sections = [
        "\n".join([heading, *(format_entry(name, title) for name, title in entries.items())])
        for heading, entries in list_sections().items()
    ]
    return "\n\n".join(sections) + "\n"


def explain_topic(*words: str) -> str:
    """Return the page with this name or number, or a list of the pages that have all the words.

    Raise UsageError with the nearest spelling where there is no such page.
    """
    topic = " ".join(words)
    if topic == EXIT_CODES:
        return "".join(f"  {status:3}  {status.meaning}\n" for status in sorted(ExitStatus))
    if page := find_page(topic):
        return page
    if kinds := find_kinds(topic):
        return "\n".join(READERS[kind](topic) for kind in kinds)
    if entries := find_entries(words):
        return "".join(f"  {name}  {title}\n" for name, title in entries)
    names = [name for entries in list_sections().values() for name in entries]
    names += [alert.name for alert in read_alerts().values()]
    matches = find_checks(topic)
    reason = f"Several have this name: {', '.join(matches)}" if matches else suggest_nearest([topic], names)
    name = matches[0] if matches else find_nearest(topic, names)
    hint = Command("gpustack", "explain", *([name] if name else []))
    raise UsageError("unknown-page", f"There is no page {topic}.", reason, hint)


def find_entries(words: Sequence[str]) -> list[tuple[str, str]]:
    """Find the pages whose name and title have all the words, whatever their case."""
    entries = [entry for section in list_sections().values() for entry in section.items()]
    entries += list_numbered_pages()
    return [
        (name, title)
        for name, title in entries
        if all(word.casefold() in f"{name} {title}".casefold() for word in words)
    ]

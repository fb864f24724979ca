"""The commands behind a finding, as a person would type them."""

from gpustack.ask.api import ADMIN
from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Evidence
from gpustack.report.format import Clean, format_location

MAX_LINE = 160
"""Lines with more characters are not quoted."""
LOCATING = "system.identity"
"""The probe by which checks find the node of a host."""


def choose_command(entry: Evidence) -> str:
    """Return the command of an entry; for a script it is a command that shows the same."""
    return entry.manual_command or entry.command.strip().replace(f" {ADMIN}", "")


def format_command(entry: Evidence) -> str:
    return f"{format_location(entry.answer.location)} $ {choose_command(entry)}"


def is_document(entry: Evidence) -> bool:
    """Tell whether an answer is JSON, which is no text in lines."""
    return entry.answer.stdout.startswith(("{", "["))


def quote_answer(entry: Evidence, judgement: Judgement, clean: Clean) -> str:
    """Quote the line of an answer that the check names, or say why there is no answer. The quote is empty where the
    answer is no text in lines."""
    reply, words = entry.answer, judgement.result.quote.split() if judgement.result else []
    text = "" if is_document(entry) else reply.stdout
    lines = (line.strip() for line in text.splitlines() if len(line) <= MAX_LINE)
    quoted_line = next((line for line in lines if words and all(word in line for word in words)), "")
    return clean(quoted_line or reply.missing_reason) or (f"(ended with {reply.rc})" if reply.rc else "")


def list_commands(judgement: Judgement, clean: Clean) -> list[str]:
    """List the commands of a judgement, each once with its quoted line below it. Commands with a quoted line come
    first. The command that only tells which node a host is is left out where there are others."""
    entries = [entry for entry in judgement.evidence if entry.answer.probe != LOCATING] or judgement.evidence
    quotes = sorted(
        ((format_command(entry), quote_answer(entry, judgement, clean)) for entry in entries),
        key=lambda pair: not pair[1],
    )
    return list(
        dict.fromkeys(f"{command_line}\n  → {reply}" if reply else command_line for command_line, reply in quotes)
    )

"""Pages by the messages in which their subject shows: words of a message, or a whole one that somebody pastes."""

import re
from collections.abc import Iterator, Sequence

from gpustack.report.explain.faults import list_faults, list_states
from gpustack.report.explain.nearest import fold_words
from gpustack.report.explain.pages import read_error_pages

ALTERNATIVE = re.compile(r"; | / ")
"""What separates the messages of one symptom."""
QUOTATION = re.compile(r'"([^"]*)"')
PLACEHOLDER = re.compile(r"\.\.\.|<[^>]*>|\([^)]*\)|: |\b\d[\w.:/]*")
"""What stands in a symptom for words or numbers that differ, or before words that a program may leave out."""
MIN_LENGTH = 16
"""The fewest letters by which a pasted message is the one of a symptom."""
SENTENCE_END = re.compile(r"(?<=[.:])\s+")


def find_messages(words: Sequence[str]) -> list[tuple[str, str]]:
    """Find the faults, states and errors with a message that has all the words but fillers, whatever their ending, or
    whose parts are in the words. Each is a name and its first such message; case and line breaks do not count."""
    text = fold_text(" ".join(words))
    wanted_words = fold_words(text)
    matches: dict[str, str] = {}
    for name, message in list_messages():
        folded_message = fold_text(message)
        has_all_words = bool(wanted_words) and wanted_words <= fold_words(message)
        if has_all_words or is_of_message(text, folded_message):
            matches.setdefault(name, message)
    return list(matches.items())


def list_messages() -> Iterator[tuple[str, str]]:
    """List the symptoms of faults, what states mean, and the sentences of pages of errors, each with the name."""
    for name, fault in list_faults().items():
        yield from ((name, symptom) for symptom in fault.symptoms)
    for name, state in list_states().items():
        yield from ((name, text) for text in (state.means, state.ask))
    for name, page in read_error_pages().items():
        yield from ((name, sentence) for sentence in SENTENCE_END.split(page.text))


def is_of_message(text: str, message: str) -> bool:
    """Tell whether a text has at least two thirds of one of the messages, by letters, and at least MIN_LENGTH of
    them."""
    for alternative in [*ALTERNATIVE.split(message), *QUOTATION.findall(message)]:
        parts = [part.strip(" '\"{}") for part in PLACEHOLDER.split(alternative)]
        length = sum(len(part) for part in parts if part in text)
        if length >= MIN_LENGTH and length * 3 >= sum(map(len, parts)) * 2:
            return True
    return False


def fold_text(text: str) -> str:
    return " ".join(text.casefold().split())

"""Pages that have most of the words of a question, for one of which no page has all words."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable

FILLER_WORDS = """
a an and are be been can could did do does for from had has have how i if in is it its me my no not of on or our should
so that the their there they this to was we were what when where which who why will with would you your
"""
FILLERS = frozenset(FILLER_WORDS.split())
WORD = re.compile(r"[a-z0-9][a-z0-9_-]*")
ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|e|(?<!s)s)$")
MIN_SHARE = 0.6
"""The least share of the weight of a question that a page has."""
MAX_PAGES = 6


def find_nearest_pages(question: str, entries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Find the entries, each a name and a text, that are nearest to a question by the words that they share, whatever
    their endings. A word weighs more the fewer entries have it, and fillers weigh nothing. Return the best MAX_PAGES
    names with their best texts, the shorter ones first among equals; none where no entry has MIN_SHARE of the weight
    and two of the words."""
    texts = list(dict.fromkeys(entries))
    stems = [fold_words(f"{name} {text}") for name, text in texts]
    wanted_stems = fold_words(question)
    holders: dict[str, set[int]] = defaultdict(set)
    for position, folded_words in enumerate(stems):
        for stem in wanted_stems & folded_words:
            holders[stem].add(position)
    weights = {stem: math.log((1 + len(texts)) / (1 + len(holders[stem]))) for stem in wanted_stems}
    scores: dict[str, tuple[float, str]] = {}
    for position in {position for positions in holders.values() for position in positions}:
        name, text = texts[position]
        shared_stems = wanted_stems & stems[position]
        score = sum(weights[stem] for stem in shared_stems)
        best_score, best_text = scores.get(name, (0.0, ""))
        if len(shared_stems) > 1 and (score, -len(text)) > (best_score, -len(best_text)):
            scores[name] = (score, text)
    min_weight = MIN_SHARE * sum(weights.values())
    ranking = sorted(scores.items(), key=lambda item: (-item[1][0], len(item[1][1])))
    return [(name, text) for name, (score, text) in ranking if score >= min_weight][:MAX_PAGES]


def fold_words(text: str) -> frozenset[str]:
    """Fold a text to its words without fillers, capitals and endings."""
    return frozenset(ENDING.sub("", word) for word in WORD.findall(text.casefold()) if word not in FILLERS)

"""Finds a known text however a program has written it: escaped, quoted for an address or markup, wrapped over lines,
coloured, in base64 once or twice, in hexadecimal, and cut off.

A text is read once into its plain characters, each with its place in the text. Blanks, quotes and backslashes are left
out of both sides, so that no way of quoting and no line break hides what is looked for.
"""

import re
from array import array
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

from gpustack.ask.redact.printable import ESCAPES

SHORTEST, SHORTEST_PART = 4, 6
"""Characters of a form, and of a part of one where the text is cut. Fewer stand in many a word."""
ROUNDS = 3
"""A writer may have written what another had written already: `%2525`."""
WRITTEN = re.compile(
    rf"(?P<skip>{ESCAPES.pattern}|\\++(?:033|x1[bB]|u001[bB]|e)\[[0-?]{{0,40}}+[ -/]?[@-~])"
    r"|(?P<bytes>(?:%[0-9A-Fa-f]{2}|\\++x[0-9A-Fa-f]{2}|\\++[0-3][0-7]{2})++)"
    r"|(?P<units>(?:\\++u[0-9A-Fa-f]{4}|\\++u\{[0-9A-Fa-f]{1,5}\}|\\++U000[0-9A-Fa-f]{5})++)"
    r"|(?P<markup>&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);)"
    r"|\\++[nrt]|[\s\"']++|\\++"
)
UNIT = re.compile(r"(?:%|\\++[xuU]?\{?)([0-9A-Fa-f]+)\}?")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]")
CUT_BEHIND = re.compile(r"[ \t]{0,4}(?:\Z|\\*+[\n\r\"']|\\++[nr]|…|\.\.\.|\[)")
CUT_BEFORE = re.compile(r"(?:\A|[\n\r\"'…\]]|\\n|\.\.\.)[ \t]{0,4}\Z")
LOOKS_BACK = 16


@dataclass(frozen=True)
class Reading:
    """The plain characters, and for the first of each piece its place there, its place in the text, and the length that
    each of its characters has in the text (0: as many as the piece has)."""

    plain: str
    places: "array[int]"
    starts: "array[int]"
    ends: "array[int]"

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where the characters from `first` up to `last`, both of them, stand in the text."""
        return self.locate(first)[0], self.locate(last)[1]

    def locate(self, place: int) -> tuple[int, int]:
        at = bisect_right(self.places, place) - 1
        if self.ends[at]:
            return self.starts[at], self.ends[at]
        start = self.starts[at] + place - self.places[at]
        return start, start + 1


def read(text: str) -> Reading:
    """Read a text into its plain characters."""
    reading = read_once(text)
    for _ in range(ROUNDS - 1):
        again = read_once(reading.plain)
        if again.plain == reading.plain:
            break
        reading = join(reading, again)
    return reading


def read_once(text: str) -> Reading:
    parts: list[str] = []
    places, starts, ends = array("Q"), array("Q"), array("Q")
    length = behind = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal length
        parts.append(part)
        places.append(length)
        starts.append(start)
        ends.append(end)
        length += len(part)

    for match in WRITTEN.finditer(text):
        if match.start() > behind:
            add(text[behind : match.start()], behind, 0)
        behind = match.end()
        if kind := match.lastgroup if match.lastgroup != "skip" else "":
            for char, start, end in decode(kind, match):
                add(char, start, end)
    if behind < len(text):
        add(text[behind:], behind, 0)
    return Reading("".join(parts), places, starts, ends)


def decode(kind: str, match: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each character that is written otherwise, and where it begins and ends."""
    if kind == "markup":
        yield unescape(match[0]), match.start(), match.end()
        return
    units = list(UNIT.finditer(match.string, match.start(), match.end()))
    if kind == "bytes":
        data = bytes(int(unit[1], 16 if not is_octal(unit) else 8) & 255 for unit in units)
        chars = data.decode("utf-8", "surrogateescape")
        sizes = [len(char.encode("utf-8", "surrogateescape")) for char in chars]
    else:
        words = [int(unit[1], 16) for unit in units]
        data = b"".join(chr(min(word, 0x10FFFF)).encode("utf-16-le", "surrogatepass") for word in words)
        chars = data.decode("utf-16-le", "surrogatepass")
        sizes = [1 if ord(char) < 0x10000 or char in map(chr, words) else 2 for char in chars]
    at = 0
    for char, size in zip(chars, sizes, strict=True):
        yield char, units[at].start(), units[at + size - 1].end()
        at += size


def is_octal(unit: re.Match[str]) -> bool:
    return unit[0].startswith("\\") and "x" not in unit[0]


def join(first: Reading, second: Reading) -> Reading:
    """Return the plain characters of the second reading with their places in the text of the first one."""
    joined = Reading(second.plain, array("Q"), array("Q"), array("Q"))

    def add(place: int, start: int, end: int) -> None:
        joined.places.append(place)
        joined.starts.append(start)
        joined.ends.append(end)

    for at, first_place in enumerate(second.places):
        place = first_place
        if second.ends[at]:
            add(place, *first.span(second.starts[at], second.ends[at] - 1))
            continue
        following = second.places[at + 1] if at + 1 < len(second.places) else len(second.plain)
        start, stop = second.starts[at], second.starts[at] + following - place
        piece = bisect_right(first.places, start) - 1
        while start < stop:
            offset = 0 if first.ends[piece] else start - first.places[piece]
            add(place, first.starts[piece] + offset, first.ends[piece])
            piece += 1
            behind = first.places[piece] if piece < len(first.places) else len(first.plain)
            place, start = place + behind - start, behind
    return joined


@lru_cache(maxsize=256)
def list_forms(secret: str) -> tuple[tuple[str, bool], ...]:
    """Return what is looked for among plain characters, and whether it is base64."""
    data = secret.encode("utf-8", "surrogatepass")
    once = list(dict.fromkeys(list_cores(data)))
    twice = [core for inner in once for core in list_cores(inner.encode())]
    texts = {read(secret).plain, data.hex(), data.hex().upper()}
    found = [(text, False) for text in texts if len(text) >= SHORTEST]
    return (*found, *((core, True) for core in dict.fromkeys((*once, *twice)) if len(core) >= SHORTEST_PART))


def list_cores(data: bytes) -> Iterator[str]:
    """Yield what of the base64 is the same whatever stands before and behind the data, such as a user's name: bytes
    count in threes, so there are three."""
    for before in range(3):
        whole = b64encode(b"\0" * before + data).decode().rstrip("=")
        core = whole[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        yield core
        yield core.translate(str.maketrans("+/", "-_"))


def find_written(text: str, reading: Reading, secret: str) -> Iterator[tuple[int, int]]:
    """Yield where a secret stands in a text, whole or, where the text is cut, the half of it or more."""
    for form, is_base64 in list_forms(secret):
        least, run = find_least(form), (0, 0)
        for first, last in (*find_heads(reading.plain, form, least), *find_tails(reading.plain, form, least)):
            start, end = reading.span(first, last - 1)
            if run[0] <= start and end <= run[1]:
                continue  # to widen each of many places in one run would take quadratic time
            if last - first == len(form) or is_cut(text, start, end, ends=reading.plain[first] == form[0]):
                run = widen(text, start, end) if is_base64 else (start, end)
                yield run


def find_least(form: str) -> int:
    """Return how many characters of a form are told from other texts; in an address, what follows its host."""
    if len(form) < 2 * SHORTEST:
        return len(form)
    _, _, behind = form.partition("://")
    public = len(form) - len(behind.partition("/")[2]) if "/" in behind else 0
    return min(max(SHORTEST_PART, (len(form) + 1) // 2, public + 2 * SHORTEST_PART if public else 0), len(form))


def find_heads(plain: str, form: str, least: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a form, and of its beginning of so many characters or more."""
    start = -1
    while (start := plain.find(form[:least], start + 1)) >= 0:
        length = least
        while length < len(form) and plain[start + length : start + length + 1] == form[length]:
            length += 1
        yield start, start + length


def find_tails(plain: str, form: str, least: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the end of a form, of so many characters or more, and not of the form."""
    if least == len(form):
        return
    end = least - 1
    while (end := plain.find(form[-least:], end + 1 - least)) >= 0:
        end += least
        length = least
        while length < len(form) and end > length and plain[end - length - 1] == form[-length - 1]:
            length += 1
        if length < len(form):
            yield end - length, end
        end += 1


def is_cut(text: str, start: int, end: int, *, ends: bool) -> bool:
    """The beginning of a secret ends the text, a line or what is in quotes; the end of one begins it."""
    if ends:
        return CUT_BEHIND.match(text, end) is not None
    return CUT_BEFORE.search(text[max(start - LOOKS_BACK, 0) : start]) is not None


def widen(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a place in base64 to the whole run."""
    while start and BASE64.match(text, start - 1):
        start -= 1
    while end < len(text) and BASE64.match(text, end):
        end += 1
    while text[end : end + 1] == "=":
        end += 1
    return start, end

"""Search for a known text however a program has written it: escaped, quoted for an address or markup, wrapped over
lines, coloured, in base64 once or twice, in hexadecimal, and cut off.

A text is read once into its plain characters, each with its place in the text. Blanks, quotes and backslashes are left
out of both sides, so that no way of quoting and no line break hides the text that is searched for.
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
"""The fewest characters of a form, and of a part of a form where the text is cut. Shorter ones occur in many words."""
ROUNDS = 3
"""A program may have escaped what another one had escaped already: `%2525`."""
ENCODED_TEXT = re.compile(
    rf"(?P<skip>{ESCAPES.pattern}|\\++(?:033|x1[bB]|u001[bB]|e)\[[0-?]{{0,40}}+[ -/]?[@-~])"
    r"|(?P<bytes>(?:%[0-9A-Fa-f]{2}|\\++x[0-9A-Fa-f]{2}|\\++[0-3][0-7]{2})++)"
    r"|(?P<units>(?:\\++u[0-9A-Fa-f]{4}|\\++u\{[0-9A-Fa-f]{1,5}\}|\\++U000[0-9A-Fa-f]{5})++)"
    r"|(?P<markup>&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);)"
    r"|\\++[nrt]|[\s\"']++|\\++"
)
UNIT = re.compile(r"(?:%|\\++[xuU]?\{?)([0-9A-Fa-f]+)\}?")
QUOTING = re.compile(r"[\s\"'\\]+")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]")
CUT_BEHIND = re.compile(r"[ \t]{0,4}(?:\Z|\\*+[\n\r\"']|\\++[nr]|…|\.\.\.|\[)")
CUT_BEFORE = re.compile(r"(?:\A|[\n\r\"'…\]]|\\n|\.\.\.)[ \t]{0,4}\Z")
LOOKS_BACK = 16


@dataclass(frozen=True)
class Reading:
    """Hold the plain characters of a text in pieces. For each piece: the place of its first character, its place in the
    text, and the length that each of its characters has in the text (0: as many as the piece has)."""

    plain: str
    places: "array[int]"
    starts: "array[int]"
    ends: "array[int]"

    def locate_span(self, first: int, last: int) -> tuple[int, int]:
        """Return where the characters from `first` up to `last`, both of them, stand in the text."""
        return self.locate(first)[0], self.locate(last)[1]

    def locate(self, place: int) -> tuple[int, int]:
        index = bisect_right(self.places, place) - 1
        if self.ends[index]:
            return self.starts[index], self.ends[index]
        start = self.starts[index] + place - self.places[index]
        return start, start + 1


def decode_text(text: str) -> tuple[Reading, ...]:
    """Read a text into its plain characters, once and then again as long as an escape is left.

    All readings are searched: where blanks are left out, the next reading takes `% be` for a byte.
    """
    readings = [decode_once(text)]
    while len(readings) < ROUNDS and (next_reading := decode_once(readings[-1].plain)).plain != readings[-1].plain:
        readings.append(join_readings(readings[-1], next_reading))
    return tuple(readings)


def decode_once(text: str) -> Reading:
    parts: list[str] = []
    places, starts, ends = array("Q"), array("Q"), array("Q")
    length = position = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal length
        parts.append(part)
        places.append(length)
        starts.append(start)
        ends.append(end)
        length += len(part)

    for match in ENCODED_TEXT.finditer(text):
        if match.start() > position:
            add(text[position : match.start()], position, 0)
        position = match.end()
        if kind := match.lastgroup if match.lastgroup != "skip" else "":
            for char, start, end in decode_match(kind, match):
                add(char, start, end)
    if position < len(text):
        add(text[position:], position, 0)
    return Reading("".join(parts), places, starts, ends)


def decode_match(kind: str, match: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Yield each escaped character with its start and end in the text."""
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
    index = 0
    for char, size in zip(chars, sizes, strict=True):
        yield char, units[index].start(), units[index + size - 1].end()
        index += size


def is_octal(unit: re.Match[str]) -> bool:
    return unit[0].startswith("\\") and "x" not in unit[0]


def join_readings(first: Reading, second: Reading) -> Reading:
    """Return the plain characters of the second reading with their places in the text of the first one."""
    joined_reading = Reading(second.plain, array("Q"), array("Q"), array("Q"))

    def add(place: int, start: int, end: int) -> None:
        joined_reading.places.append(place)
        joined_reading.starts.append(start)
        joined_reading.ends.append(end)

    for index, first_place in enumerate(second.places):
        place = first_place
        if second.ends[index]:
            add(place, *first.locate_span(second.starts[index], second.ends[index] - 1))
            continue
        end_place = second.places[index + 1] if index + 1 < len(second.places) else len(second.plain)
        start, stop = second.starts[index], second.starts[index] + end_place - place
        piece = bisect_right(first.places, start) - 1
        while start < stop:
            offset = 0 if first.ends[piece] else start - first.places[piece]
            add(place, first.starts[piece] + offset, first.ends[piece])
            piece += 1
            next_start = first.places[piece] if piece < len(first.places) else len(first.plain)
            place, start = place + next_start - start, next_start
    return joined_reading


@lru_cache(maxsize=256)
def list_plain_forms(secret: str) -> tuple[tuple[str, bool], ...]:
    """Return each text that a secret may be written as, and whether that text is base64."""
    data = secret.encode("utf-8", "surrogatepass")
    single_cores = list(dict.fromkeys(list_cores(data)))
    double_cores = [core for inner in single_cores for core in list_cores(inner.encode())]
    plain_forms = (QUOTING.sub("", secret), *(reading.plain for reading in decode_text(secret)))
    texts = {*plain_forms, data.hex(), data.hex().upper()}
    whole_forms = [(text, False) for text in texts if len(text) >= SHORTEST]
    return (
        *whole_forms,
        *((core, True) for core in dict.fromkeys((*single_cores, *double_cores)) if len(core) >= SHORTEST_PART),
    )


def list_cores(data: bytes) -> Iterator[str]:
    """Yield the part of the base64 that does not depend on what stands before and behind the data, such as a user's
    name. Base64 encodes three bytes at a time, so there are three such parts."""
    for before in range(3):
        encoded_text = b64encode(b"\0" * before + data).decode().rstrip("=")
        core = encoded_text[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        yield core
        yield core.translate(str.maketrans("+/", "-_"))


def find_written(text: str, reading: Reading, secret: str) -> Iterator[tuple[int, int]]:
    """Yield where a secret stands in a text, whole or, where the text is cut, half of it or more."""
    for form, is_base64 in list_plain_forms(secret):
        min_length, run = compute_min_length(form), (0, 0)
        for first, last in (*find_heads(reading.plain, form, min_length), *find_tails(reading.plain, form, min_length)):
            start, end = reading.locate_span(first, last - 1)
            if run[0] <= start and end <= run[1]:
                continue  # to widen each of many places in one run would take quadratic time
            if last - first == len(form) or is_cut(text, start, end, ends=reading.plain[first] == form[0]):
                run = widen(text, start, end) if is_base64 else (start, end)
                yield run


def compute_min_length(form: str) -> int:
    """Return how many characters of a form are needed to recognize it; of an address, more than its host."""
    if len(form) < 2 * SHORTEST:
        return len(form)
    _, _, host_and_path = form.partition("://")
    public = len(form) - len(host_and_path.partition("/")[2]) if "/" in host_and_path else 0
    return min(max(SHORTEST_PART, (len(form) + 1) // 2, public + 2 * SHORTEST_PART if public else 0), len(form))


def find_heads(plain: str, form: str, min_length: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a form, and of its first `min_length` characters or more."""
    start = -1
    while (start := plain.find(form[:min_length], start + 1)) >= 0:
        length = min_length
        while length < len(form) and plain[start + length : start + length + 1] == form[length]:
            length += 1
        yield start, start + length


def find_tails(plain: str, form: str, min_length: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the last `min_length` characters or more of a form, except those of the whole form."""
    if min_length == len(form):
        return
    end = min_length - 1
    while (end := plain.find(form[-min_length:], end + 1 - min_length)) >= 0:
        end += min_length
        length = min_length
        while length < len(form) and end > length and plain[end - length - 1] == form[-length - 1]:
            length += 1
        if length < len(form):
            yield end - length, end
        end += 1


def is_cut(text: str, start: int, end: int, *, ends: bool) -> bool:
    """Tell whether the text is cut there: the first half of a secret ends the text, a line or a quotation, the last
    half begins it."""
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

"""Content of others that was spoiled: bytes, values of JSON, answers of a recording. A seed makes a case again."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from tests.unit.hostile.answers import spoil_text, walk

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = (
    b"NaN", b"+Inf", b"-Inf", b"1e300", b"-1", b"0", b"4294967295", b"18446744073709551615", b"null", b'""', b"9" * 400,
    b"5e-324", b"-0.0", b"1e-999",
)  # fmt: skip
PIECES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\r\n", b"\r", b"\x1b[2J", b'"', b"{", b"}", b"#", b"\\", b"\n")
DEEP = "[" * 3000 + "]" * 3000
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**64 - 1, 4294967295, "", "NaN", "+Inf", "-Inf", "1e300", "-1", "4294967295", "9" * 400,
    "\x00", "\ud800", [], {}, [None], [[]], {"": {}}, [{"metric": {}, "value": [0, "1"]}], {"a": [{"a": [[[]]]}]},
)  # fmt: skip


def drop_bytes(random: Random, content: bytes) -> bytes:
    begin = random.randrange(len(content) + 1)
    return content[:begin] + content[begin + random.choice((1, 1, 7, 300)) :]


def repeat_bytes(random: Random, content: bytes) -> bytes:
    begin = random.randrange(len(content) + 1)
    end = begin + random.choice((1, 7, 300))
    return content[:end] + content[begin:]


def swap_bytes(random: Random, content: bytes) -> bytes:
    first, second = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return (
        content[:first]
        + content[second : second + 1]
        + content[first + 1 : second]
        + content[first : first + 1]
        + content[second + 1 :]
    )


def cut_bytes(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def insert_bytes(random: Random, content: bytes) -> bytes:
    begin = random.randrange(len(content) + 1)
    return content[:begin] + random.choice(PIECES) + content[begin:]


def replace_numbers(random: Random, content: bytes) -> bytes:
    """Replace one number, or one of twenty."""
    matches = list(NUMBER.finditer(content))
    count = random.choice((1, 1, len(matches) // 20 + 1))
    for match in sorted(random.sample(matches, min(count, len(matches))), key=lambda match: -match.start()):
        content = content[: match.start()] + random.choice(NUMBERS) + content[match.end() :]
    return content


def repeat_lines(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    return b"\n".join(line for line in lines for _ in range(random.choice((1, 1, 1, 2, 0))))


def write_dos_lines(random: Random, content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def spoil_words(random: Random, content: bytes) -> bytes:
    """Spoil a text as the answers of hosts are spoiled."""
    return spoil_text(random, content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogatepass")


def change_values(random: Random, content: bytes) -> bytes:
    """Give values of a document of JSON another type or number, take keys away, or nest it deep."""
    try:
        holder: list[Any] = [json.loads(content)]
    except (ValueError, RecursionError):
        return replace_numbers(random, content)
    for _ in range(random.choice((1, 1, 2, 4))):
        places: list[tuple[Any, Any]] = []
        walk(holder, places)
        # What is near the top is chosen as often as what is below it.
        parent, key = random.choice(places[: random.choice((10, len(places), len(places), len(places)))])
        if isinstance(parent, dict) and random.random() < 0.2:
            del parent[key]
        else:
            parent[key] = deepcopy(random.choice(VALUES))
    text = json.dumps(holder[0])
    return (text.replace("[]", DEEP, 1) if random.random() < 0.03 else text).encode()


BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (
    drop_bytes, repeat_bytes, swap_bytes, cut_bytes, insert_bytes, replace_numbers, replace_numbers, repeat_lines,
    write_dos_lines, spoil_words,
)  # fmt: skip


def spoil_content(random: Random, content: bytes) -> bytes:
    """Spoil a text of any form."""
    for spoil in random.choices(BYTES, k=random.randint(1, 3)):
        content = spoil(random, content)
    return content


def spoil_document(random: Random, content: bytes) -> bytes:
    """Spoil a document of JSON: its values three times of four, else its bytes."""
    return (change_values if random.random() < 0.75 else spoil_content)(random, content)


def spoil_answers(random: Random, content: bytes) -> bytes:
    """Spoil bodies of answers in a recording of queries: one, some, or all."""
    head, *lines = content.splitlines()
    chosen_lines = random.sample(range(len(lines)), random.choice((1, 1, 1, 2)) if len(lines) > 1 else 1)
    for index in chosen_lines:
        answer = json.loads(lines[index])
        spoil = change_values if random.random() < 0.85 else spoil_content
        body = spoil(random, answer["body"].encode())
        lines[index] = json.dumps(answer | {"body": body.decode("utf-8", "replace")}).encode()
    return b"\n".join([head, *lines, b""])

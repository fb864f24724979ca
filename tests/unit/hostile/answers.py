"""Hostile answers are recorded answers that were spoiled, and noise. A seed makes a case again."""

import json
import string
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from gpustack.ask.probe import Answer
from tests.worlds.snapshots import answers

Spoil = Callable[[Random, str], str]

ESCAPES = (
    "\x1b[31m", "\x1b[2J\x1b[H", "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b]8;;http://e\x1b\\x\x1b]8;;\x1b\\",
    "\x1bPq\x1b\\", "\x9b1m", "\x9d0;x\x9c", "\r", "\b\b\b", "\x07", "\x00", "\u202e", "\u2066", "\u2028",
    "\x0c", "\x7f",
)  # fmt: skip
MESSAGES = (
    "sh: 1: crictl: nicht gefunden\n", "bash: ss : commande introuvable\n", "Speicherzugriffsfehler\n",
    "Erlaubnis verweigert\n", "アクセスが拒否されました\n", "sudo: a password is required\n", "Killed\n",
    "dpkg-query: kein Paket gefunden, das auf curl passt\n", "Neuer Filesystem-Typ: überlagert\n", "== live\n== boot\n",
    "{}", "[]", "null", '"ok"', "ok", "yes\n", "0\n", "-1\n", "\ufeffok\n", "<?xml version='1.0'?><a/>\n", "\n",
    "\n" * 999,
    '{"items":null}', '{"items":{}}', '{"items":[null]}', '{"items":[{"metadata":[]}]}', '{"config":NaN}',
    "[" * 5000, '{"a":' * 5000, "- " * 5000, "a: &a [*a]\n", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
    "x = " + "[" * 5000, ".".join("a" * 3000) + " = 1\n", "-A INPUT -j INPUT\n" * 40,
)  # fmt: skip
NUMBERS = (
    "0", "-1", "1e999", "NaN", "9" * 30, "9" * 5000, "٣٢", "²", "\uff11\uff12", "1_0", "+7", "0x10", "1.5", "", " ",
)  # fmt: skip
MARKERS = (
    "== live",
    "== units",
    "== others",
    "== nft",
    "M 0123456789abcdef",
    "0123456789abcdef done",
    "GPUSTACK-NO-SUDO",
)
ODD: tuple[Any, ...] = (None, True, -1, 10**30, 1.5, "", "\x1b[31m", "\ud800", [], {}, [[[]]], {"name": {"name": 1}})


def choose_position(random: Random, text: str) -> int:
    return random.randint(0, len(text))


def cut(random: Random, text: str) -> str:
    return text[: choose_position(random, text)]


def cut_head(random: Random, text: str) -> str:
    return text[choose_position(random, text) :]


def insert_text(random: Random, text: str, insertion: str) -> str:
    position = choose_position(random, text)
    return text[:position] + insertion + text[position:]


def escape(random: Random, text: str) -> str:
    return insert_text(random, text, random.choice(ESCAPES))


def insert_marker(random: Random, text: str) -> str:
    return insert_text(random, text, f"\n{random.choice(MARKERS)}\n")


def cut_within_line(random: Random, text: str) -> str:
    """Cut within a line. Where a line ends, what is left is the answer of another host: that nothing got lost on the
    way is then known by the exit status alone."""
    positions = [index for index in range(1, len(text)) if text[index - 1] != "\n"]
    return text[: random.choice(positions)] if positions else "?"


def generate_noise(random: Random, text: str) -> str:
    """Generate random bytes, decoded as the product decodes what comes from a host."""
    return random.randbytes(random.randint(0, 200)).decode(errors="replace")


def generate_binary(random: Random, text: str) -> str:
    return f"{generate_noise(random, '')}\ufffd\0\n"


def insert_noise(random: Random, text: str) -> str:
    return insert_text(random, text, generate_noise(random, ""))


def choose_message(random: Random, text: str) -> str:
    return random.choice(MESSAGES)


def choose_foreign_message(random: Random, text: str) -> str:
    """Choose a message where an answer should be: not one word, which could be a name."""
    return random.choice([text for text in MESSAGES if " " in text or not text.isascii()])


def repeat_text(random: Random, text: str) -> str:
    return text + text


def repeat_to_limit(random: Random, text: str) -> str:
    """Repeat a text to as much as travels at most. This is seldom: it costs the time of a hundred others."""
    return (text or "x") * (262144 // len(text or "x")) if random.random() < 0.01 else text * 3


def drop_lines(random: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if random.random() < 0.8)


def repeat_lines(random: Random, text: str) -> str:
    return "".join(line * random.choice((1, 1, 1, 2)) for line in text.splitlines(keepends=True))


def shuffle_lines(random: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    random.shuffle(lines)
    return "".join(lines)


def number(random: Random, text: str) -> str:
    """Replace one run of digits by another."""
    runs = [index for index, char in enumerate(text) if char.isdigit() and not text[index - 1 : index].isdigit()]
    if not runs:
        return text
    start = random.choice(runs)
    end = start + len(text[start:]) - len(text[start:].lstrip(string.digits))
    return text[:start] + random.choice(NUMBERS) + text[end:]


def drop_word(random: Random, text: str) -> str:
    words = text.split(" ")
    del words[random.randrange(len(words))]
    return " ".join(words)


def replace_character(random: Random, text: str) -> str:
    position = choose_position(random, text)
    return (
        text[:position]
        + chr(random.choice((0, 9, 13, 34, 39, 92, 61, 58, 0xFFFD, 0x1F600, random.randrange(0xD800))))
        + text[position + 1 :]
    )


def change_shape(random: Random, text: str) -> str:
    """Change JSON: one leaf or branch has another type, is gone, or is written twice."""
    try:
        whole_lines = [json.loads(text)]
    except (ValueError, RecursionError):
        return number(random, text)
    places: list[tuple[Any, Any]] = []
    walk(whole_lines, places)
    holder, key = random.choice(places)
    if random.random() < 0.3 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = random.choice(ODD)
    return json.dumps(whole_lines[0]) if whole_lines else "null"


def walk(value: Any, places: list[tuple[Any, Any]]) -> None:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        places.append((value, key))
        walk(inner, places)


GARBAGE: tuple[Spoil, ...] = (cut_within_line, generate_binary, choose_foreign_message, escape)
"""After these, text is no answer, unless by luck it is the same as before."""
ALL_SPOILS: tuple[Spoil, ...] = (
    *GARBAGE, cut, generate_noise, choose_message, cut_head, insert_marker, insert_noise, repeat_text, repeat_to_limit,
    drop_lines, repeat_lines, shuffle_lines, number, drop_word, replace_character, change_shape, change_shape,
)  # fmt: skip
STATUSES = (0, 0, 0, 0, 0, 1, 2, 7, 22, 100, 124, 126, 127, 137, 139, 141, 255, -1, 256, 10**9)


@cache
def list_recorded(probe: str) -> tuple[Answer, ...]:
    """List all cases of a probe."""
    names = sorted(path.stem for path in (answers.CASES / probe).glob("*.json"))
    return tuple(answers.read_case(probe, name, location="host1") for name in names)


def spoil_text(random: Random, text: str, spoils: tuple[Spoil, ...] = ALL_SPOILS, max_count: int = 3) -> str:
    for spoil in random.choices(spoils, k=random.randint(1, max_count)):
        text = spoil(random, text)
    return text


def build_hostile_answer(probe: str, seed: int) -> Answer:
    """Build a spoiled answer of the probe from a recorded one, the same for the same seed."""
    random = Random(seed)
    before = random.choice(list_recorded(probe))
    err = spoil_text(random, before.stderr, max_count=1) if random.random() < 0.3 else before.stderr
    return replace(before, rc=random.choice(STATUSES), stdout=spoil_text(random, before.stdout), stderr=err)

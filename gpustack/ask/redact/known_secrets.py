"""Secrets whose values are known, in every form in which a program may write them."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from urllib.parse import quote, quote_plus

from gpustack.ask.redact.secret_shapes import GONE
from gpustack.files.json_text import dump_json

SHORTEST = 4
"""Characters. A shorter one is taken out as a word only: else every letter of it would go from every text."""
SHORTEST_CORE = 6
"""Characters of base64. Fewer stand in many a word."""
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def hide_known(text: str, secrets: Sequence[str]) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) < SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", GONE, text)
            continue
        for form in forms(secret):
            text = text.replace(form, GONE)
        for core in cores(secret):
            text = hide_runs(text, core)
    return text


def tables(*found: dict[str, str]) -> tuple[dict[int, str], ...]:
    return tuple(str.maketrans(table) for table in found)


MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
ESCAPED = tables(
    {"'": "''"},  # YAML
    {"'": "'\\''"},  # shells
    {"'": "'\"'\"'"},  # Python for a shell
    {"'": "\\'", "\\": "\\\\"},
    MARKUP,
    MARKUP | {"'": "&#x27;", '"': "&quot;"},  # Python
    MARKUP | {"'": "&#39;", '"': "&#34;"},  # Go
    MARKUP | {"'": "&apos;", '"': "&quot;"},  # XML
)
# kubectl, Docker and all that Go writes as JSON (encoding/json, HTMLEscape).
(GO_JSON,) = tables({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})
# What stays in an address as it is: nothing, what is so in paths, in logins by Go (net/url), and in JavaScript.
SAFE = ("", "/", "$&+,;=", "!'()*")


@lru_cache(maxsize=256)
def forms(secret: str) -> tuple[str, ...]:
    """As it is, in JSON (and JSON within JSON), in an address, within quotes and markup, in hexadecimal. The longest
    first: one may be the start of another."""
    found = {secret, *(secret.translate(table) for table in ESCAPED)}
    for ascii_only in (True, False):
        once = dump_json(secret, ensure_ascii=ascii_only)[1:-1]
        for inner in (once, once.translate(GO_JSON)):
            found |= {inner, dump_json(inner, ensure_ascii=ascii_only)[1:-1]}
    for quoted in (*(quote(secret, safe=safe) for safe in SAFE), quote_plus(secret)):
        small = re.sub("%..", lambda code: code[0].lower(), quoted)
        found |= {quoted, small, quoted.replace("%", "%%"), small.replace("%", "%%")}  # %% in units of systemd
    found |= {secret.encode().hex(), secret.encode().hex().upper()}
    return tuple(sorted(found, key=len, reverse=True))


@lru_cache(maxsize=256)
def cores(secret: str) -> tuple[str, ...]:
    """What of its base64 is the same whatever stands before and behind it, such as a user's name and a colon: bytes
    count in threes, so there are three."""
    return tuple(dict.fromkeys(core for core in every_core(secret.encode()) if len(core) >= SHORTEST_CORE))


def every_core(data: bytes) -> Iterator[str]:
    for before in range(3):
        whole = b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (0, 2, 3)[before]
        last = (before + len(data)) * 8 // 6
        yield whole[first:last]
        yield whole[first:last].translate(str.maketrans("+/", "-_"))


def hide_runs(text: str, core: str) -> str:
    """Each run of base64 that has it goes whole."""
    if core not in text:
        return text
    return BASE64.sub(lambda run: GONE if core in run[0] else run[0], text)

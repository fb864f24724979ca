"""Secrets whose values are known, in every form in which a program may write them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote, quote_plus

from gpustack.ask.redact.secret_shapes import GONE
from gpustack.ask.redact.written_forms import find_written, read
from gpustack.files.json_text import dump_json

SHORTEST = 4
"""Characters. A shorter one is taken out as a word only: else every letter of it would go from every text."""


def hide_known(text: str, secrets: Sequence[str]) -> str:
    """Take known values out of a text, however they are written in it."""
    values = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in values:
        if len(secret) < SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", GONE, text)
            continue
        for form in forms(secret):
            text = text.replace(form, GONE)
    values = [secret for secret in values if len(secret) >= SHORTEST]
    return hide_written(text, values) if values else text


def hide_written(text: str, secrets: Sequence[str]) -> str:
    """Take out what is escaped, wrapped, encoded or cut."""
    reading = read(text)
    spans = sorted({span for secret in secrets for span in find_written(text, reading, secret)})
    parts, behind = [], 0
    for start, end in spans:
        if end <= behind:
            continue
        if start >= behind:
            parts += [text[behind:start], GONE]
        behind = end
    return "".join((*parts, text[behind:]))


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

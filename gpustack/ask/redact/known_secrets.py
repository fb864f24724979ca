"""Redaction of secrets whose values are known, in every form in which a program may write them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote, quote_plus

from gpustack.ask.redact.secret_shapes import REDACTION
from gpustack.ask.redact.written_forms import decode_text, find_written
from gpustack.files.json_text import dump_json

SHORTEST = 4
"""A secret with fewer characters is redacted as a whole word only: otherwise each of its letters would be redacted
everywhere."""


def hide_known(text: str, secrets: Sequence[str]) -> str:
    """Redact known values in a text, however they are written in it."""
    values = sorted(filter(None, secrets), key=len, reverse=True)
    for secret in values:
        if len(secret) < SHORTEST:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTION, text)
            continue
        for form in list_variants(secret):
            text = text.replace(form, REDACTION)
    values = [secret for secret in values if len(secret) >= SHORTEST]
    return hide_written(text, values) if values else text


def hide_written(text: str, secrets: Sequence[str]) -> str:
    """Redact known values that are escaped, wrapped, encoded or cut."""
    readings = decode_text(text)
    spans = sorted({span for secret in secrets for reading in readings for span in find_written(text, reading, secret)})
    parts, position = [], 0
    for start, end in spans:
        if end <= position:
            continue
        if start >= position:
            parts += [text[position:start], REDACTION]
        position = end
    return "".join((*parts, text[position:]))


def build_tables(*replacements: dict[str, str]) -> tuple[dict[int, str], ...]:
    return tuple(str.maketrans(table) for table in replacements)


MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
ESCAPE_TABLES = build_tables(
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
(GO_JSON,) = build_tables({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})
# What stays in an address as it is: nothing, what is so in paths, in logins by Go (net/url), and in JavaScript.
SAFE = ("", "/", "$&+,;=", "!'()*")


@lru_cache(maxsize=256)
def list_variants(secret: str) -> tuple[str, ...]:
    """List the forms of a secret, the longest first: as it is, in JSON, JSON within JSON, an address, quotes, markup
    and hexadecimal.

    A form may be the beginning of another one, so the longer one is replaced first.
    """
    variants = {secret, *(secret.translate(table) for table in ESCAPE_TABLES)}
    for ascii_only in (True, False):
        json_text = dump_json(secret, ensure_ascii=ascii_only)[1:-1]
        for inner in (json_text, json_text.translate(GO_JSON)):
            variants |= {inner, dump_json(inner, ensure_ascii=ascii_only)[1:-1]}
    for url_form in (*(quote(secret, safe=safe) for safe in SAFE), quote_plus(secret)):
        lowercase_form = re.sub("%..", lambda code: code[0].lower(), url_form)
        variants |= {url_form, lowercase_form}
        # As in units of systemd.
        variants |= {form.replace("%", "%%") for form in (url_form, lowercase_form)}
    variants |= {secret.encode().hex(), secret.encode().hex().upper()}
    return tuple(sorted(variants, key=len, reverse=True))

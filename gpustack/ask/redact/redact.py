"""Redaction of secrets. A recording keeps its shape: what is left still parses.

Each rule keeps the name of what was redacted, so that a reader sees what is missing. Texts that are no secrets stay as
they are.
"""

import re
from collections.abc import Sequence

from gpustack.ask.redact.known_secrets import hide_known
from gpustack.ask.redact.secret_commands import COMMANDS
from gpustack.ask.redact.secret_names import FLAG, hide_named
from gpustack.ask.redact.secret_shapes import REDACTION, SHAPES, Shape


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Redact the secrets of a text. `secrets` are values known to be secret; they are replaced first, in every form."""
    text = hide_known(text, secrets)
    for rule in (*SHAPES, *COMMANDS, FLAG):
        text = hide(rule, text)
    return hide_named(text)


def hide(rule: Shape, text: str) -> str:
    def replace_match(match: re.Match[str]) -> str:
        if match["s"].startswith(REDACTION) or not rule.condition(match):
            return match[0]
        start, end = (position - match.start() for position in match.span("s"))
        return f"{match[0][:start]}{rule.replacement}{match[0][end:]}"

    return rule.pattern.sub(replace_match, text)

"""Takes secrets out of texts. A recording keeps its shape: what is left still parses.

Each rule keeps the name of what was there, so that a reader sees what is gone; what is no secret stays as it is.
"""

import re
from collections.abc import Sequence

from gpustack.ask.redact.known_secrets import hide_known
from gpustack.ask.redact.secret_commands import COMMANDS
from gpustack.ask.redact.secret_names import FLAG, hide_named
from gpustack.ask.redact.secret_shapes import GONE, SHAPES, Shape


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`secrets` are values known to be secret; they go first, wherever and however they stand."""
    text = hide_known(text, secrets)
    for rule in (*SHAPES, *COMMANDS, FLAG):
        text = hide(rule, text)
    return hide_named(text)


def hide(rule: Shape, text: str) -> str:
    def instead(found: re.Match[str]) -> str:
        if found["s"].startswith(GONE) or not rule.takes(found):
            return found[0]
        start, end = (at - found.start() for at in found.span("s"))
        return f"{found[0][:start]}{rule.gone}{found[0][end:]}"

    return rule.pattern.sub(instead, text)

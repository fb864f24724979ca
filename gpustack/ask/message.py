"""Messages of programs, shortened in their middle.

Programs written in Go wrap an error from the outside, so that the cause stands last: `failed to start sandbox …: runc
create failed: …: namespace NEWIPC is not supported` (opencontainers/runc#5305).
"""

from gpustack.ask.redact.redact import redact

LIMIT = 800
"""Characters of a message that is not shortened. An event of Kubernetes has at most 1024 (pkg/apis/core/validation)."""
READ_LIMIT = 64_000
MARK = "…"


def shorten_message(message: str, limit: int = LIMIT) -> str:
    """Shorten a message to `limit` characters by leaving out its middle; a quarter of them are its end. Secrets are
    redacted first, since half a secret is not recognized."""
    if len(message) <= limit:
        return message
    return drop_middle(redact(cut_message(message)), limit, limit // 4)


def cut_message(message: str) -> str:
    """Keep of a very long message what is worth a search for secrets: much more than is shown at either end."""
    return drop_middle(message, READ_LIMIT, READ_LIMIT // 2)


def drop_middle(text: str, limit: int, end: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit - end - len(MARK)]}{MARK}{text[-end:]}"

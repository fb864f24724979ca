"""Messages of programs, shortened in their middle.

Programs written in Go wrap an error from the outside, so that the cause stands last: `failed to start sandbox …: runc
create failed: …: namespace NEWIPC is not supported` (opencontainers/runc#5305).
"""

from gpustack.ask.redact.redact import redact

LIMIT = 800
"""Characters of a message that is not shortened. An event of Kubernetes has at most 1024 (pkg/apis/core/validation)."""
MARK = "…"


def shorten_message(message: str, limit: int = LIMIT) -> str:
    """Shorten a message to `limit` characters by leaving out its middle; a quarter of them are its end. Secrets are
    redacted first, since half a secret is not recognized."""
    if len(message) <= limit:
        return message
    message = redact(message)
    if len(message) <= limit:
        return message
    end = limit // 4
    return f"{message[: limit - end - len(MARK)]}{MARK}{message[-end:]}"

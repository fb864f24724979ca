"""One thing that is wrong in what the operator wrote, and all of them at once as one error."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpustack.command import Command
from gpustack.errors import ConfigError


@dataclass(frozen=True)
class Complaint:
    """`file` is the path as the operator knows it (may be empty), `key` dotted, `found` and `allowed` are texts."""

    file: str
    key: str
    found: str
    allowed: str
    reference: str = "config-invalid"
    nearest: str = ""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.key) if part)
        text = f"{where}: found {self.found}, allowed: {self.allowed}"
        return f"{text}; did you mean {self.nearest}?" if self.nearest else text


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word that looks most like `word`, or an empty string."""
    return next(iter(get_close_matches(word, known, n=1, cutoff=0.6)), "")


def refuse(complaints: Sequence[Complaint]) -> None:
    """Raises ConfigError with every complaint in it; does nothing without one."""
    if not complaints:
        return
    kinds = {complaint.reference for complaint in complaints}
    reference = kinds.pop() if len(kinds) == 1 else "config-invalid"
    count = "1 mistake" if len(complaints) == 1 else f"{len(complaints)} mistakes"
    raise ConfigError(
        reference,
        f"{count} in the configuration; nothing was asked or changed.",
        "\n".join(str(complaint) for complaint in complaints),
        Command("gpustack", "explain", reference),
    )

"""Formats of changes for people."""


def format_percent(share: float | None, sign: str = "+") -> str:
    """Format a share as `+8.1 %`, with a minus sign as wide as the plus sign. The text is empty for None."""
    return "" if share is None else f"{share * 100:{sign}z,.1f} %".replace("-", "\N{MINUS SIGN}")

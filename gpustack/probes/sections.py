"""Splits the output of a probe that answers several questions: each begins with a line `== NAME`."""


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Names may come more than once. Raises ValueError for text before the first."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("== "):
            found.append((line[3:], []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise ValueError(f"not in a section: {line[:80]}")
    return found

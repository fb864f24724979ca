"""Splits the output of a probe that answers several questions: each begins with a line `== NAME`."""

from gpustack.ask.probe import HEADING


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Names may come more than once. Raises ValueError for text before the first."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(HEADING):
            found.append((line.removeprefix(HEADING), []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise ValueError(f"not in a section: {line[:80]}")
    return found


def named(found: list[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """By name. Raises ValueError for a duplicate name: a file that has such a line would pass for another answer."""
    by_name = dict(found)
    if len(by_name) < len(found):
        raise ValueError("a section is there twice")
    return by_name


def read_sections(text: str, *names: str) -> list[list[str]]:
    """The lines of each section. Raises ValueError unless these are there, in this order."""
    found = sections(text)
    if [name for name, _ in found] != list(names):
        raise ValueError(f"expected the sections {names}")
    return [lines for _, lines in found]

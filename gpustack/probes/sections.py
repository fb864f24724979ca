"""Splitting of the output of a probe that answers several questions: each section begins with a line `== NAME`."""

from gpustack.ask.probe import HEADING


def split_sections(text: str) -> list[tuple[str, list[str]]]:
    """Split a text into sections; a name may come more than once. Raise ValueError where a text stands before the first
    one."""
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(HEADING):
            sections.append((line.removeprefix(HEADING), []))
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            raise ValueError(f"not in a section: {line[:80]}")
    return sections


def index_sections(sections: list[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Index sections by name. Raise ValueError where a name is a duplicate: a file with such a line would pass for
    another answer."""
    by_name = dict(sections)
    if len(by_name) < len(sections):
        raise ValueError("a section is there twice")
    return by_name


def parse_sections(text: str, *names: str) -> list[list[str]]:
    """Parse the lines of each section. Raise ValueError unless the sections have these names, in this order."""
    sections = split_sections(text)
    if [name for name, _ in sections] != list(names):
        raise ValueError(f"expected the sections {names}")
    return [lines for _, lines in sections]

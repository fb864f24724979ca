"""A task that gives a program its standard input gives it something: Ansible gives an empty text by not giving any, and
the program then waits for what is typed at the terminal of an ansible-playbook that a person started.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
# Its program reads them only where there is no mirror, and then the list has an entry at least.
NEVER_EMPTY = {"{{ containerd_images }}"}
EXPRESSION = re.compile(r"{{.*?}}|{%.*?%}", re.DOTALL)


def find_inputs(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for element in node:
            yield from find_inputs(element)
    elif isinstance(node, dict):
        for key, element in node.items():
            if key == "stdin" and isinstance(element, str):
                yield element
            else:
                yield from find_inputs(element)


INPUTS = [
    (str(path.relative_to(PLAYBOOKS)), text)
    for path in sorted(PLAYBOOKS.rglob("*.yml"))
    for text in find_inputs(yaml.safe_load(path.read_text()))
]


def is_never_empty(text: str) -> bool:
    """Tell whether a text has characters outside of expressions, or a template that has."""
    if template := re.search(r"lookup\('ansible.builtin.template', '([^']+)'\)", text):
        return all(EXPRESSION.sub("", path.read_text()).strip() for path in PLAYBOOKS.rglob(template.group(1)))
    return text in NEVER_EMPTY or bool(EXPRESSION.sub("", text)) or bool(re.fullmatch(r"{{[^}]*\| to_json }}", text))


@pytest.mark.parametrize(("path", "text"), INPUTS)
def test_no_standard_input_is_empty(path: str, text: str) -> None:
    assert is_never_empty(text), f"{path}: end it with \\n"


@pytest.mark.parametrize("text", ["{{ authorization }}", "{{ objects | map('to_json') | join('\n---\n') }}"])
def test_a_text_that_may_be_empty_is_refused(text: str) -> None:
    assert not is_never_empty(text)
    assert is_never_empty(f"{text}\n")

"""An expression with which a role edits a file of a host takes at most a second for 256 KiB of hostile text: others
write these files too, and the record edits them once more with the same expressions."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from tests.contract.hostile_inputs import build_seeds, find_slow


def list_expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, str) and (key == "regexp" or str(key).startswith("containerd_version_")):
                yield part
            else:
                yield from list_expressions(part)
    elif isinstance(value, list):
        for part in value:
            yield from list_expressions(part)


FOUND_TEXTS = [
    text for path in locate_playbooks().rglob("*.yml") for text in list_expressions(yaml.safe_load(path.read_text()))
]
EXPRESSIONS = sorted({text for text in FOUND_TEXTS if "{{" not in text})


def test_expressions_were_found() -> None:
    assert len(EXPRESSIONS) >= 12
    assert [text for text in FOUND_TEXTS if "{{" in text and "item." not in text and "containerd_" not in text] == [
        "{{ prereqs_swap_line.regexp }}"
    ]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_edit_is_linear(text: str) -> None:
    """The module replace and the program of the record apply each expression in this way."""
    pattern = re.compile(text, re.MULTILINE)
    assert find_slow(lambda text: pattern.sub("", text), build_seeds(pattern, max_count=60)) == []

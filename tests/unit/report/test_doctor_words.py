"""Which line of an answer is shown as evidence."""

import json

import pytest

from gpustack.report.doctor_words import LEAD, LONG, telling

UNIT = "Id=kubelet.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=disabled"
LIST = json.dumps({"items": [{"name": f"other-{number}"} for number in range(40)] + [{"name": "mine"}]})


@pytest.mark.parametrize(
    ("text", "found", "line"),
    [
        (UNIT, "inactive, disabled", "ActiveState=inactive"),
        ("ActiveState=active\nUnitFileState=enabled", "not active, enabled", "UnitFileState=enabled"),
        ("== live\n-A INPUT -j a\n-P FORWARD DROP", "stopped by the policy of FORWARD", "-P FORWARD DROP"),
        ("# Written by us\nx = 1", "none", "x = 1"),
        ('{\n  "status": {\n  }\n}', "nothing", '"status": {'),
        ("{\n}", "nothing", "{"),
        ("", "none", ""),
        ("== live\n", "none", ""),
    ],
)
def test_the_line_that_tells(text: str, found: str, line: str) -> None:
    assert telling(text, found) == line


def test_of_a_long_line_the_place_that_tells() -> None:
    shown = telling(LIST, "mine wants another")
    assert len(LIST) > LONG
    assert shown.startswith("…")
    assert shown.index("mine") == LEAD + 1

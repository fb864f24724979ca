"""A rule of the redaction takes a time that grows with the text and no faster: a second at most for 256 KiB of inputs
that are made of the rule's own characters."""

from functools import partial

import pytest

from gpustack.ask.redact import secret_names
from gpustack.ask.redact.redact import hide, redact
from gpustack.ask.redact.secret_commands import COMMANDS
from gpustack.ask.redact.secret_shapes import SHAPES
from tests.contract.hostile_inputs import build_seeds, find_slow, measure

RULES = {
    rule.name: (rule.pattern, (rule.example,), partial(hide, rule)) for rule in (*SHAPES, *COMMANDS, secret_names.FLAG)
}
NAMED_TEXTS = {
    "name and value": (
        secret_names.PATTERN,
        ("password: a", 'X_KEY = ["a b"]', '"token": "\\"a'),
        secret_names.hide_named,
    ),
    "variable": (secret_names.VARIABLE, ("name: A_TOKEN\nvalue: x",), secret_names.hide_named),
    **{
        f"block {end!r}": (pattern, ("token: |\n  a\n",), secret_names.hide_named)
        for end, pattern in secret_names.BLOCKS.items()
    },
}


@pytest.mark.parametrize("name", [*RULES, *NAMED_TEXTS])
def test_each_rule_of_the_redaction_is_linear(name: str) -> None:
    pattern, examples, work = (RULES | NAMED_TEXTS)[name]
    assert find_slow(work, build_seeds(pattern, examples)) == []


# Each was quadratic once: seconds for 16 KiB, and a host may say 256 KiB.
@pytest.mark.parametrize(
    ("lead", "pump"),
    [
        ("password: a, ", " "),
        ("password: [ ", "\t"),
        ("api_url: https://a/", "\t"),
        ("cookie: [[[", "["),
        ('password: \\"', "\\"),
        ("token=", "a, "),
        ("password: x", ",)"),
        ("", "cookie:"),
        ("", "curl -u "),
        ("", "eyJ"),
        ("", "%25"),
        ("", "\\u0041"),
        ("a", "\\"),
        ("", "ZmlnLWxlYWYtNzc"),
        ("", "ZmlnLWxlYWYtNzc\nA"),
    ],
)
def test_a_hostile_answer_is_redacted_in_time(lead: str, pump: str) -> None:
    text = lead + pump * (2**18 // len(pump))
    assert measure(partial(redact, secrets=["fig-leaf-77"]), text, 10.0) < 5

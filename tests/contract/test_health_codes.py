"""Tests that each code of DCGM's health watches has a decision, which the alerts follow."""

import re

import pytest

from gpustack.config.versions import read_rows
from gpustack.health.sign import VERDICTS
from gpustack.vocabulary.health_codes import load_health_codes
from tests.contract.promql import ROOT, read_rules

SEVERITIES = ROOT / "tests" / "recorded" / "dcgm" / "error-severities.txt"
RECORDING = ROOT / "tests" / "recorded" / "dcgm" / "health-codes.txt"
DECISIONS = {code: decision for code, decision, *_ in read_rows("health-codes.csv")}
EXPRESSIONS = {
    rule["alert"]: rule["expr"] for rule in read_rules("gpu-alerts.yaml") if rule["alert"].startswith("GpuHealth")
}


def is_admitted(code: str, expression: str) -> bool:
    """Judge whether the first selector of an expression that excludes codes lets this one in."""
    exclusion = re.search(r'health_error_code!~"([^"]+)"', expression)
    assert exclusion is not None
    return re.fullmatch(exclusion[1], code) is None


def test_each_code_that_dcgm_can_set_has_a_decision() -> None:
    names = [line.split()[0] for line in RECORDING.read_text().splitlines() if not line.startswith("#")]
    assert sorted(DECISIONS) == names
    assert set(DECISIONS.values()) == {"new", "links", "never"}


@pytest.mark.parametrize("code", sorted(DECISIONS))
def test_the_alerts_follow_the_decision(code: str) -> None:
    fails, warns = (is_admitted(code, EXPRESSIONS[name]) for name in ("GpuHealthFail", "GpuHealthWarn"))
    link_rule = f'health_error_code="{code}"' in EXPRESSIONS["GpuHealthFail"]
    clocks = code.startswith("DCGM_FR_CLOCK")  # DCGM only warns of lowered clocks, it never fails a watch for them.
    assert {"new": (True, True, False), "links": (False, True, True), "never": (clocks, False, False)}[
        DECISIONS[code]
    ] == (fails, warns, link_rule)


def test_no_verdict_on_a_code_is_above_the_severity_that_dcgm_gives_it() -> None:
    """A GPU is reset for nothing that DCGM only monitors."""
    lines = [line.split() for line in SEVERITIES.read_text().splitlines() if not line.startswith("#")]
    severities = dict(lines)
    assert severities.keys() <= load_health_codes().keys()
    for code in load_health_codes().values():
        assert code.verdict in ("", *VERDICTS), code
        assert code.origin in ("driver", "xid", "dcgm"), code
        if code.verdict in ("reset", "reboot", "replace"):
            assert severities[code.code] in ("ISOLATE", "RESET"), code

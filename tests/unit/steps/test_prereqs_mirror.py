"""A mirror says under its signature what it is for."""

import pytest

from gpustack.steps.prereqs.step import STEP
from tests.worlds.cases import recorded
from tests.worlds.hosts import judged
from tests.worlds.judge import failures


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("prepared-debian-12", "lab"),
        ("older-release", "not stated"),
        ("no-list", "not stated"),
        ("production", None),
        ("no-answer", None),
    ],
)
@pytest.mark.parametrize("state", ["fresh", "prepared"])
def test_a_mirror_of_stand_ins_is_for_labs(state: str, case: str, found: str | None) -> None:
    """Where nobody answers, nothing can be installed from there either; the role asks again, and for the signature."""
    answers = {("mirror.checksums", "h1"): recorded("mirror.checksums", case)}
    source = {"mirror": "http://10.77.1.1:8480", "fingerprint": "B02F2293F7B78A3111583174AF233E29F632E03B"}
    result = failures(judged(STEP, answers, {"source": source}, state=state)).get("mirror-purpose")
    assert result == ((found, "operator") if found else None)
    assert "mirror-purpose" not in failures(judged(STEP, answers, {"source": source | {"purpose": "lab"}}, state=state))
    assert "mirror-purpose" not in failures(judged(STEP, answers, {"source": "official"}, state=state))

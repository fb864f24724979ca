"""A mirror says under its signature whether its GPU software is simulated."""

import pytest

from gpustack.steps.prereqs.step import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures


@pytest.mark.parametrize(
    ("case", "actual"),
    [
        ("prepared-debian-12", "simulated"),
        ("older-release", "not stated"),
        ("no-list", "not stated"),
        ("production", None),
        ("no-answer", None),
    ],
)
@pytest.mark.parametrize("state", ["fresh", "prepared"])
def test_simulated_software_is_refused_unless_it_is_allowed(state: str, case: str, actual: str | None) -> None:
    """Nothing can be installed from a mirror that does not answer either; the role asks again, and for the
    signature."""
    answers = place_answers("h1", read_case("mirror.checksums", case))
    source = {"mirror": "http://10.77.1.1:8480", "fingerprint": "B02F2293F7B78A3111583174AF233E29F632E03B"}
    result = list_failures(judge(STEP, answers, {"source": source}, state=state)).get("mirror-contents")
    assert result == ((actual, "operator") if actual else None)
    for accepted_source in (source | {"simulated": "allowed"}, "official"):
        assert "mirror-contents" not in list_failures(judge(STEP, answers, {"source": accepted_source}, state=state))

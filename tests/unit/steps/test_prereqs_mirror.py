"""A mirror says under its signature whether its GPU software is simulated."""

import pytest

from gpustack.steps.prereqs.step import STEP
from tests.worlds.cases import answers_at, recorded
from tests.worlds.hosts import judged
from tests.worlds.judge import failures


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("prepared-debian-12", "simulated"),
        ("older-release", "not stated"),
        ("no-list", "not stated"),
        ("production", None),
        ("no-answer", None),
    ],
)
@pytest.mark.parametrize("state", ["fresh", "prepared"])
def test_simulated_software_is_refused_unless_it_is_allowed(state: str, case: str, found: str | None) -> None:
    """Where nobody answers, nothing can be installed from there either; the role asks again, and for the signature."""
    answers = answers_at("h1", recorded("mirror.checksums", case))
    source = {"mirror": "http://10.77.1.1:8480", "fingerprint": "B02F2293F7B78A3111583174AF233E29F632E03B"}
    result = failures(judged(STEP, answers, {"source": source}, state=state)).get("mirror-contents")
    assert result == ((found, "operator") if found else None)
    for accepted in (source | {"simulated": "allowed"}, "official"):
        assert "mirror-contents" not in failures(judged(STEP, answers, {"source": accepted}, state=state))

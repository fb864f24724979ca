"""The tests let every check of the doctor fail. A check that always returns ok would pass all others."""

import re
from pathlib import Path

import pytest

from gpustack.doctor.checks import BY_ID

FOLDER = Path(__file__).parent / "checks"


def list_tests() -> set[tuple[str, str]]:
    return {
        (path.name, name)
        for path in FOLDER.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }


# `make quick` runs some cases of each table only.
@pytest.mark.long
def test_every_check_fails_in_a_test(request: pytest.FixtureRequest, failed_checks: set[str]) -> None:
    """The tests in checks/ run before, since pytest sorts by path."""
    selected_tests = {(item.path.name, item.name.partition("[")[0]) for item in request.session.items}
    if missing := list_tests() - selected_tests:
        pytest.skip(f"needs all tests in tests/unit/doctor/checks: {len(missing)} are not selected")
    assert set(BY_ID) - failed_checks == set(), (
        "add a case to tests/unit/doctor/checks/test_<module>.py in which the check returns ok=False"
    )

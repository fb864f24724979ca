"""The tests let every check of the doctor fail. A check that always returns ok would pass all others."""

import re
from pathlib import Path

import pytest

from gpustack.doctor.checks import BY_ID
from tests.unit.doctor.conftest import Failures

FOLDER = Path(__file__).parent / "checks"


def list_tests() -> set[tuple[str, str]]:
    return {
        (path.name, name)
        for path in FOLDER.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }


def require_all_tests(request: pytest.FixtureRequest) -> None:
    """Skip unless all tests in checks/ have run. They run before, since pytest sorts by path."""
    selected_tests = {(item.path.name, item.name.partition("[")[0]) for item in request.session.items}
    if missing := list_tests() - selected_tests:
        pytest.skip(f"needs all tests in tests/unit/doctor/checks: {len(missing)} are not selected")


# `make quick` runs some cases of each table only.
@pytest.mark.long
def test_every_check_fails_in_a_test(request: pytest.FixtureRequest, failures: Failures) -> None:
    require_all_tests(request)
    assert set(BY_ID) - failures.ids == set(), (
        "add a case to tests/unit/doctor/checks/test_<module>.py in which the check returns ok=False"
    )


@pytest.mark.long
@pytest.mark.parametrize("id", list(BY_ID))
def test_no_lost_answer_rules_out_what_is_present(id: str, request: pytest.FixtureRequest, failures: Failures) -> None:
    """A failing check is judged again without each answer that it read, and then fails still or is unknown."""
    require_all_tests(request)
    assert id in failures.ids
    assert sorted(probe for name, probe in failures.passes if name == id) == []

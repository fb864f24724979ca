"""A driver of the owner's is left alone where the operator works with it, whatever the names of its packages."""

from typing import Any

import pytest

from gpustack.ask.view import View
from gpustack.config.versions import KNOWN_SETS, read_version_set
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.driver import STEP
from gpustack.steps.gpu.mode import choose_driver_mode
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

SMI = place_answers("h1", read_case("gpu.smi", "prepared-debian-12"))


def build_owner(version: str, installer: str = "others", packages: str = "ubuntu-nvidia") -> Answers:
    """Build an Ubuntu host with a working driver of a version, of NVIDIA's repository unless `packages` is another."""
    edits = (("595.91.07", version),) if packages == "ubuntu-nvidia" else ()
    answers = (
        read_case("gpu.packages", packages, *edits),
        read_case("gpu.driver", f"installed-by-{installer}", ("595.91.07", version)),
    )
    return {**SMI, **place_answers("h1", *answers), ("system.os", "h1"): UBUNTU}


def place_gpu(kind: str) -> Answers:
    return place_answers("h1", make_answer("gpu.devices", f"0000:17:00.0 0x2684 0x{kind}00 nvidia\n"))


def choose_mode(answers: Answers, spec: dict[str, Any] | None = None) -> str:
    return choose_driver_mode(View(build_snapshot(answers, spec or {}), "h1"))


@pytest.mark.parametrize("version", ["590.48.01", "595.71.05", "595.91.07", "610.43.02", "550.163.01"])
def test_a_driver_of_the_owner_is_not_adopted(version: str) -> None:
    """These are the packages that gpustack would install, by their names."""
    assert choose_mode(build_owner(version)) == "none"
    assert choose_mode(build_owner(version), {"gpu": {"driver": {"version": "595.91.07"}}}) == "none"
    assert choose_mode(build_owner(version), {"gpu": {"stack": "host"}}) == "none"
    assert choose_mode(build_owner(version), {"gpu": {"driver": {"mode": "host"}}}) == "host"


def test_a_driver_that_gpustack_installed_stays_with_it() -> None:
    assert choose_mode(build_owner("595.71.05", "gpustack")) == "host"
    assert choose_mode(place_answers("h1", read_case("gpu.driver", "installed-by-gpustack"))) == "host"
    assert choose_mode(place_answers("h1", read_case("gpu.driver", "installed-by-others"))) == "none"


def test_a_driver_half_removed_is_the_owner_s_as_well() -> None:
    """Packages of a module are left, and no library: nothing is installed over them."""
    bare = make_answer("gpu.driver", "module -\nlibrary -\npersistence none\ninstaller others\n")
    answers = {**build_owner("595.71.05"), **place_answers("h1", bare)}
    assert choose_mode(answers) == "none"
    assert list_failures(judge(STEP, answers))["module-loaded"][1] == "operator"


def test_a_host_without_any_driver_gets_one() -> None:
    bare = make_answer("gpu.driver", "module -\nlibrary -\npersistence none\ninstaller others\n")
    answers = {**place_answers("h1", bare, read_case("gpu.packages", "fresh-debian-12")), ("system.os", "h1"): UBUNTU}
    assert choose_mode(answers) == "container"
    assert choose_mode(place_answers("h1", bare, read_case("gpu.packages", "fresh-debian-12"))) == "host"
    module_answer = make_answer("gpu.driver", "module 595.91.07\nlibrary -\npersistence none\ninstaller others\n")
    assert choose_mode({**answers, **place_answers("h1", module_answer)}) == "container"


@pytest.mark.parametrize(
    ("version", "kind", "actual"),
    [
        ("580.95.05", "0300", None),
        ("575.57.08", "0300", "575.57.08"),
        ("550.163.01", "0302", None),
        ("530.41.03", "0302", "530.41.03"),
    ],
)
def test_the_driver_is_new_enough_for_the_operator(version: str, kind: str, actual: str | None) -> None:
    failures = list_failures(judge(STEP, {**build_owner(version), **place_gpu(kind)}))
    assert failures.get("minimum") == (actual and (actual, "operator"))
    assert set(failures) <= {"minimum"}


def test_the_minimum_counts_in_mode_none_and_with_the_operator_alone() -> None:
    older = {**build_owner("550.163.01"), **place_gpu("0300")}
    assert "minimum" in list_failures(judge(STEP, older, {"gpu": {"driver": {"mode": "none"}}}))
    assert "minimum" not in list_failures(judge(STEP, older, {"gpu": {"stack": "host"}}))


@pytest.mark.parametrize("name", KNOWN_SETS)
def test_every_operator_has_a_minimum(name: str) -> None:
    versions = read_version_set(name)
    assert set(versions.operator_drivers[versions.charts["gpu-operator"].version]) == {"any", "data-centre"}


def list_sentences(answers: Answers, spec: dict[str, Any] | None = None) -> tuple[str, ...]:
    persistent = {"monitoring": {"persistence": {"enabled": True}}, **(spec or {})}
    return tuple(line for line in list_warnings(build_snapshot(answers, persistent)) if "driver" in line)


def test_what_unattended_upgrades_may_replace_is_a_warning() -> None:
    archive = build_owner("580.95.05", packages="ubuntu-archive")
    upgrades = place_answers("h1", read_case("gpu.unattended-upgrades", "on"))
    left_alone = "h1: driver 580.95.05 is its owner's, and left alone"
    assert list_sentences(archive) == (left_alone,)
    (sentence,) = list_sentences(
        {**archive, **upgrades, **place_answers("h1", read_case("gpu.guard", "fresh-debian-12"))}
    )
    assert sentence.startswith(f"{left_alone}; unattended upgrades may replace it under running pods")
    assert sentence.endswith("apt-mark hold libnvidia-compute-580-server nvidia-utils-580-server")
    exclusion = make_answer(
        "gpu.guard",
        '== guard\nUnattended-Upgrade::Package-Blacklist:: "nvidia-";\n'
        'Unattended-Upgrade::Package-Blacklist:: "libnvidia-";\n',
    )
    assert list_sentences({**archive, **upgrades, **place_answers("h1", exclusion)}) == (left_alone,)
    held_driver = {
        **build_owner("580.95.05"),
        **upgrades,
        **place_answers("h1", read_case("gpu.guard", "fresh-debian-12")),
    }
    assert list_sentences(held_driver) == (left_alone,)


def test_a_driver_of_gpustack_is_no_warning() -> None:
    assert list_sentences(build_owner("595.91.07", "gpustack")) == ()

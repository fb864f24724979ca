"""The spec and the host decide who brings the driver."""

from typing import Any

import pytest

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.rollout.overlay import build_host_facts
from gpustack.steps.gpu.mode import choose_driver_mode
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot


def choose_mode(spec: dict[str, Any], **cases: str) -> str:
    """Choose the mode on Ubuntu; `cases` are recorded answers: driver="mismatch" is gpu.driver/mismatch."""
    answers = {(f"gpu.{probe}", "h1"): read_case(f"gpu.{probe}", case) for probe, case in cases.items()}
    fresh = {(probe, "h1"): read_case(probe, "fresh-debian-12") for probe in ("gpu.packages", "gpu.driver")}
    return choose_driver_mode(View(build_snapshot({("system.os", "h1"): UBUNTU, **fresh, **answers}, spec), "h1"))


@pytest.mark.parametrize("mode", ["host", "container", "none"])
def test_the_mode_of_the_spec_counts(mode: str) -> None:
    assert choose_mode({"gpu": {"driver": {"mode": mode}}}) == mode


def test_debian_has_no_driver_containers() -> None:
    assert choose_driver_mode(View(build_snapshot({}, {}), "h1")) == "host"


def test_ubuntu_takes_containers_unless_a_driver_is_there() -> None:
    assert choose_mode({}) == "container"
    assert choose_mode({}, packages="ubuntu-nvidia") == "host"
    assert choose_mode({}, packages="ubuntu-archive", driver="run-installer") == "none"
    assert choose_mode({}, driver="run-installer") == "none"


@pytest.mark.parametrize(
    ("version", "by_default"),
    [("610.43.02", "none"), ("595.91.08", "none"), ("595.91.07", "host"), ("595.71.05", "host"), ("580.95.05", "host")],
)
def test_an_owner_s_newer_driver_is_left_alone(version: str, by_default: str) -> None:
    """The driver is not "upgraded" back; where the spec names a version, that one is installed."""
    packages = read_case("gpu.packages", "ubuntu-nvidia", ("595.91.07", version))
    answers: Answers = {("system.os", "h1"): UBUNTU, ("gpu.packages", "h1"): packages}
    assert choose_driver_mode(View(build_snapshot(answers, {}), "h1")) == by_default
    assert (
        choose_driver_mode(View(build_snapshot(answers, {"gpu": {"driver": {"version": "595.91.07"}}}), "h1")) == "host"
    )
    newer = place_answers("h1", read_case("gpu.packages", "prepared-debian-12", ("595.91.07", version)))
    assert choose_driver_mode(View(build_snapshot(newer, {}), "h1")) == by_default


@pytest.mark.parametrize(("version", "by_default"), [("610.43.02", "none"), ("595.91.07", "host"), ("580.95", "host")])
def test_a_newer_driver_of_the_run_installer_is_left_alone(version: str, by_default: str) -> None:
    """The host is on Debian, where no driver container would stand in for it."""
    loaded_answer = read_case("gpu.driver", "run-installer", ("550.163.01", version))
    bare: Answers = {
        ("gpu.packages", "h1"): read_case("gpu.packages", "fresh-debian-12"),
        ("gpu.driver", "h1"): loaded_answer,
    }
    assert choose_driver_mode(View(build_snapshot(bare, {}), "h1")) == by_default
    assert choose_driver_mode(View(build_snapshot(bare, {"gpu": {"driver": {"version": "595.91.07"}}}), "h1")) == "host"


def test_what_a_driver_container_has_loaded_is_nobody_else_s() -> None:
    loaded_answer = make_answer("gpu.driver", "module 595.91.07\nlibrary -\nnouveau-blacklisted\npersistence none\n")
    answers: Answers = {("system.os", "h1"): UBUNTU, ("gpu.driver", "h1"): loaded_answer}
    packages = place_answers("h1", read_case("gpu.packages", "fresh-debian-12"))
    assert choose_driver_mode(View(build_snapshot({**answers, **packages}, {}), "h1")) == "container"


def test_without_an_operator_drivers_are_on_hosts() -> None:
    assert choose_mode({"gpu": {"stack": "host"}}) == "host"


def test_it_is_unknown_without_the_facts() -> None:
    whole_snapshot = build_snapshot(
        {("system.os", "h1"): UBUNTU, ("gpu.packages", "h1"): make_answer("gpu.packages", "", 1)}, {}
    )
    with pytest.raises(FactUnavailable):
        choose_driver_mode(View(whole_snapshot, "h1"))


def format_facts(answers: Answers) -> str:
    facts = build_host_facts(build_snapshot(answers, {}), "h1")
    assert facts
    return str(facts["gpu_driver"])


def test_roles_get_nothing_where_there_is_no_gpu_or_no_answer() -> None:
    assert format_facts({}) == "host"
    assert format_facts(place_answers("h1", make_answer("gpu.devices", ""))) == ""
    assert format_facts(place_answers("h1", make_answer("gpu.devices", "?\n"))) == ""

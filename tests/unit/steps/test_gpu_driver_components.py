"""A host on which packages of NVIDIA's repository will be installed has Debian's component contrib, or gets a line."""

from typing import Any

import pytest

from gpustack.ask.view import View
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.debian_components import describe_missing_component
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot

SOURCES = "packages.sources"
ARCHIVE = "http://archive.example.org/debian"
BEGINNING = "Debian's component contrib is not enabled, and NVIDIA's guide asks for it: "


def describe_host(answers: Answers, spec: dict[str, Any] | None = None, state: str = "fresh") -> str:
    return describe_missing_component(View(build_snapshot(answers, spec or {}, state=state), "h1"))


def place_sources(case: str, *edits: tuple[str, str]) -> Answers:
    return place_answers("h1", read_case(SOURCES, case, *edits))


@pytest.mark.parametrize(
    ("case", "advice"),
    [
        (
            "image-of-debian-12",
            f"write `Components: main contrib` into the stanza of {ARCHIVE} in /etc/apt/sources.list.d/debian.sources",
        ),
        (
            "one-line-of-debian-12",
            f"let the line of {ARCHIVE} in /etc/apt/sources.list end with `main non-free-firmware contrib`",
        ),
    ],
)
def test_a_host_without_contrib_gets_the_line_to_add(case: str, advice: str) -> None:
    assert describe_host(place_sources(case)) == f"{BEGINNING}{advice}"
    assert f"h1: {BEGINNING}{advice}" in list_warnings(build_snapshot(place_sources(case), {}, state="fresh"))


def test_the_stanzas_of_debian_13_are_read_alike() -> None:
    sources = place_answers("h2", read_case(SOURCES, "stanzas-of-debian-13"))
    sentence = describe_missing_component(View(build_snapshot(sources, {}, state="fresh"), "h2"))
    assert sentence.startswith(f"{BEGINNING}write `Components: main non-free-firmware contrib` into the stanza of ")


@pytest.mark.parametrize(
    ("case", "edits"),
    [
        ("image-of-debian-12", [("| main\n", "| main contrib\n")]),
        ("one-line-of-debian-12", [("| main non-free-firmware\n", "| main contrib non-free non-free-firmware\n")]),
        ("one-line-of-debian-12", [("bookworm|", "bookworm-internal|")]),
        ("image-of-debian-12", [("debian-archive-keyring.gpg|", "mirror-of-ours.gpg|")]),
    ],
    ids=["stanza", "line", "suites-of-others", "archive-of-others"],
)
def test_a_host_that_has_it_or_another_archive_gets_none(case: str, edits: list[tuple[str, str]]) -> None:
    assert describe_host(place_sources(case, *edits)) == ""


def test_contrib_of_another_archive_does_not_count() -> None:
    """VirtualBox's guide names its component so (https://www.virtualbox.org/wiki/Linux_Downloads)."""
    line = "sources.list.d/vbox.list|https://download.virtualbox.org/virtualbox/debian|bookworm||yes| contrib\n"
    assert describe_host(place_sources("image-of-debian-12", ("== keys\n", f"{line}== keys\n"))).startswith(BEGINNING)


@pytest.mark.parametrize(
    "changes",
    [
        place_answers("h1", make_answer("gpu.devices", "")),
        place_answers("h1", make_answer(SOURCES, "== odd\n")),
        place_answers("h1", make_answer("gpu.packages", "", rc=2)),
    ],
    ids=["no-gpu", "unknown-sources", "unknown-packages"],
)
def test_other_hosts_get_no_line(changes: Answers) -> None:
    assert describe_host({**place_sources("image-of-debian-12"), **changes}) == ""


def test_ubuntu_has_no_such_component() -> None:
    """A suite named stable is of anybody there."""
    changes = {
        ("system.os", "h1"): UBUNTU,
        **place_sources("image-of-debian-12", ("bookworm bookworm-updates", "stable")),
    }
    assert describe_host(changes, {"gpu": {"driver": {"mode": "host"}}}) == ""


def test_a_host_with_its_driver_needs_nothing_more() -> None:
    assert describe_host(place_sources("image-of-debian-12"), state="prepared") == ""
    without_driver = {"gpu": {"driver": {"mode": "none"}}}
    assert describe_host(place_sources("image-of-debian-12"), without_driver) == ""

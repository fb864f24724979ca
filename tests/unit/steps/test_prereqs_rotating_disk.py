"""Before a control plane is made, plan warns of a disk for etcd that rotates, or says why that is unknown."""

import pytest

from gpustack.ask.view import View
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.prereqs.rotating_disk import describe_rotating_disk
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import build_snapshot

END = "each write of etcd waits for its disk (gpustack explain etcd-slow-disk)"
UNKNOWN = "whether etcd will be on a disk that rotates is unknown: "


def place_disk(case: str, host: str = "h1") -> Answers:
    return place_answers(host, read_case("etcd.file-system", case))


def describe_host(answers: Answers, host: str = "h1") -> str:
    return describe_rotating_disk(View(build_snapshot(answers, state="fresh"), host))


@pytest.mark.parametrize(("case", "name"), [("hardware-sata", "sdb"), ("mirror-of-two", "sda")])
def test_plan_warns_of_a_disk_that_rotates(case: str, name: str) -> None:
    """A mirror waits for the slower half."""
    sentence = f"etcd will be on a disk that rotates, {name}: {END}"
    assert describe_host(place_disk(case)) == sentence
    assert f"h1: {sentence}" in list_warnings(build_snapshot(place_disk(case), state="fresh"))


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("virtual", "vda says so, and the word of a disk in a virtual machine (kvm) does not count"),
        ("hardware-without-transport", "sdb says so, and whether that is the disk's own word is unknown"),
        ("logical-volume", "loop0, loop1, loop2, loop3 say so, and whether that is the disk's own word is unknown"),
        ("no-device", "no disk is known below the overlay at /var/lib/etcd"),
        ("unknown-machine", "sda says so, and whether it is the disk of a virtual machine is unknown"),
    ],
)
def test_a_word_that_does_not_count_is_unknown_with_the_reason(case: str, reason: str) -> None:
    assert describe_host(place_disk(case)) == f"{UNKNOWN}{reason}; {END}"


@pytest.mark.parametrize("case", ["hardware-nvme", "usual", "nfs", "other-value"])
def test_other_disks_and_what_a_check_says_get_no_warning(case: str) -> None:
    assert describe_host(place_disk(case)) == ""


def test_only_a_future_control_plane_is_warned() -> None:
    assert describe_host(place_disk("hardware-sata", "h2"), "h2") == ""
    member = place_answers("h1", read_case("leftovers.kubernetes", "ready-debian-12"))
    assert describe_host({**place_disk("hardware-sata"), **member}) == ""

"""A part is made when its inputs are new, and not otherwise."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.events import Event, ignore_event
from gpustack_lab.bundle.cache import DIGESTS_PER_PART, Cache, Part, digest


class CountingMaker:
    """A part that says how often it was made."""

    def __init__(self, content: str = "content") -> None:
        self.times = 0
        self.content = content

    def __call__(self, folder: Path) -> None:
        self.times += 1
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text(self.content)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "parts")


def test_a_part_is_made_once_for_the_same_inputs(cache: Cache) -> None:
    make = CountingMaker()
    assert cache.ensure_part(Part("tool", "a" * 64, make), ignore_event).fresh
    second_part = cache.ensure_part(Part("tool", "a" * 64, make), ignore_event)
    assert (make.times, second_part.fresh, second_part["sub/file"].read_text()) == (1, False, "content")


def test_a_part_is_made_again_for_other_inputs(cache: Cache) -> None:
    make = CountingMaker()
    cache.ensure_part(Part("tool", "a" * 64, make), ignore_event)
    cache.ensure_part(Part("tool", "b" * 64, make), ignore_event)
    assert make.times == 2


def delete_file(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_text("cont")


@pytest.mark.parametrize("harm", [delete_file, cut])
def test_a_part_is_made_again_when_a_file_is_lost_or_cut(cache: Cache, harm: Callable[[Path], None]) -> None:
    make = CountingMaker()
    part = Part("tool", "a" * 64, make)
    harm(cache.ensure_part(part, ignore_event)["sub/file"])
    assert cache.ensure_part(part, ignore_event)["sub/file"].read_text() == "content"
    assert make.times == 2


def test_nothing_stays_of_a_part_that_failed(cache: Cache) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.ensure_part(Part("tool", "a" * 64, fail), ignore_event)
    assert list((cache.root / "tool").iterdir()) == []


def test_scratch_of_a_killed_build_is_swept(cache: Cache) -> None:
    leftover = cache.root / "tool" / ".new-killed"
    leftover.mkdir(parents=True)
    with cache.hold_lock(ignore_event):
        assert not leftover.exists()


def test_a_second_build_waits_and_says_so(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpustack_lab.bundle.cache.LOCK_LIMIT", 0.0)
    events: list[Event] = []
    with (
        cache.hold_lock(ignore_event),
        pytest.raises(Exception, match="within an hour"),
        cache.hold_lock(events.append),
    ):
        pass
    assert [event.kind for event in events] == ["waiting"]


def test_old_parts_are_removed(cache: Cache) -> None:
    for letter in "abcd":
        cache.ensure_part(Part("tool", letter * 64, CountingMaker()), ignore_event)
    assert len(list((cache.root / "tool").iterdir())) == DIGESTS_PER_PART
    assert cache.find_part(Part("tool", "d" * 64, CountingMaker())) is not None


def test_contents_are_the_same_however_they_came_about(cache: Cache) -> None:
    first_part = cache.ensure_part(Part("tool", "a" * 64, CountingMaker()), ignore_event)
    same_part = cache.ensure_part(Part("tool", "b" * 64, CountingMaker()), ignore_event)
    other_part = cache.ensure_part(Part("tool", "c" * 64, CountingMaker("else")), ignore_event)
    assert first_part.contents == same_part.contents != other_part.contents


def test_a_digest_sees_names_and_contents_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = digest(tmp_path, "x")
    (tmp_path / "a").rename(tmp_path / "b")
    renamed = digest(tmp_path, "x")
    (tmp_path / "b").write_text("2")
    assert len({before, renamed, digest(tmp_path, "x"), digest(tmp_path, "y"), digest(tmp_path, ["x"])}) == 5

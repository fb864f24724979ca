"""A profile in a file: whole or not at all when it is written, and what can be read of one that was cut off."""

import json
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gpustack.cli.profile.commands import app
from gpustack.errors import UsageError
from gpustack.metrics.gpus import Gpu
from gpustack.profile.analysis import analyze
from gpustack.profile.file import ADAPTER, build_profile, read_profile, write_profile
from gpustack.profile.window import Job
from tests.worlds.prometheus.windows import DECODE, build_window

GPUS = [
    replace(build_window(DECODE, seed=index), gpu=Gpu("gpu1", str(index), f"GPU-{index}"), pods=("a/b",))
    for index in range(3)
]
WHOLE_PROFILE = build_profile(Job(tuple(GPUS)), "a/b", "run 1, größer", 0, 1)
TEXT = ADAPTER.dump_json(WHOLE_PROFILE, indent=1)
# Where each GPU of it ends, counted by braces: no text of it has one.
LIST = TEXT.index(b'"windows"')


def list_gpu_ends() -> list[int]:
    ends, depth = list[int](), 0
    for size in range(LIST, len(TEXT)):
        depth += {ord("{"): 1, ord("}"): -1}.get(TEXT[size], 0)
        if depth == 0 and TEXT[size] == ord("}") and len(ends) < len(GPUS):
            ends.append(size + 1)
    return ends


ENDS = list_gpu_ends()


@settings(deadline=None, max_examples=60)
@given(st.one_of(st.integers(0, len(TEXT) - 1), st.sampled_from([end + near for end in ENDS for near in (-1, 0, 1)])))
def test_the_gpus_that_are_whole_are_read(size: int) -> None:
    whole_count = sum(end <= size for end in ENDS)
    with TemporaryDirectory() as folder:
        path = Path(folder, "run1.json")
        path.write_bytes(TEXT[:size])
        with pytest.raises(UsageError) as excinfo:
            read_profile(path)
        assert excinfo.value.reference == "profile-file"
        if not whole_count:
            with pytest.raises(UsageError):
                read_profile(path, cut=True)
            return
        profile = read_profile(path, cut=True)
    assert profile.job.windows == WHOLE_PROFILE.job.windows[:whole_count]
    assert profile.label == WHOLE_PROFILE.label
    assert profile.cut in analyze(profile).verdict.notes
    assert ("all of them are whole" in profile.cut) <= (whole_count == len(GPUS))
    assert whole_count == len(GPUS) or f"{whole_count} GPU" in profile.cut


@pytest.mark.parametrize("size", [60, LIST, LIST + 200])
def test_without_a_whole_gpu_it_is_refused_with_a_sentence(size: int, tmp_path: Path) -> None:
    (tmp_path / "run1.json").write_bytes(TEXT[:size])
    with pytest.raises(UsageError) as excinfo:
        read_profile(tmp_path / "run1.json", cut=True)
    assert excinfo.value.message == f"{tmp_path / 'run1.json'} was cut off."


@pytest.mark.parametrize("content", [TEXT.replace(b'"seconds"', b'"other"', 1), TEXT[: ENDS[1]] + b"x"])
def test_what_is_spoiled_is_not_cut_off(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run1.json").write_bytes(content)
    with pytest.raises(UsageError) as excinfo:
        read_profile(tmp_path / "run1.json", cut=True)
    assert excinfo.value.message.endswith("is no profile.")


def test_a_whole_file_has_nothing_to_note(tmp_path: Path) -> None:
    write_profile(WHOLE_PROFILE, tmp_path / "run1.json")
    assert read_profile(tmp_path / "run1.json", cut=True).cut == ""
    assert b'"cut"' not in TEXT


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run1.json"
    write_profile(WHOLE_PROFILE, path)

    def fill(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(UsageError) as excinfo:
        write_profile(replace(WHOLE_PROFILE, label="run 2"), path)
    assert "No space left" in excinfo.value.reason
    assert [path.name for path in tmp_path.iterdir()] == ["run1.json"]
    assert read_profile(path).label == WHOLE_PROFILE.label


def test_analyze_says_what_is_missing_and_compare_refuses(tmp_path: Path) -> None:
    path = tmp_path / "run1.json"
    path.write_bytes(TEXT[: ENDS[1] + 5])
    result = CliRunner().invoke(app, ["analyze", str(path), "-o", "json"])
    assert "The file was cut off: 2 GPUs are whole" in "".join(json.loads(result.stdout)["notes"])
    comparison = CliRunner().invoke(app, ["compare", str(path), str(path)])
    assert isinstance(comparison.exception, UsageError)

"""`init` writes the example, overwrites nothing, and tells the schema."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app
from gpustack.config.example import render_example
from gpustack.errors import UsageError

runner = CliRunner()


def test_init_writes_the_example_and_says_what_is_next(tmp_path: Path) -> None:
    result = runner.invoke(app, ["init", str(tmp_path / "a b")])
    assert result.exit_code == 0
    assert {path: (tmp_path / "a b" / path).read_text() for path in render_example()} == render_example()
    assert result.stdout.splitlines() == [str(tmp_path / "a b" / path) for path in render_example()]
    assert f"gpustack plan -i '{tmp_path / 'a b'}'" in result.stderr


@pytest.mark.parametrize("present", ["hosts.yml", "group_vars/all/gpustack.yml"])
def test_init_overwrites_nothing_and_writes_nothing_then(tmp_path: Path, present: str) -> None:
    (tmp_path / present).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / present).write_text("mine")
    result = runner.invoke(app, ["init", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert result.exception.reference == "init-exists"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [Path(present).name]
    assert (tmp_path / present).read_text() == "mine"


def test_a_place_that_cannot_be_written_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        error = runner.invoke(app, ["init", str(place)]).exception
        assert isinstance(error, UsageError), error
        assert error.reference == "init-unwritable"
    assert (tmp_path / "file").read_text() == "mine"


def test_init_needs_a_folder() -> None:
    result = runner.invoke(app, ["init"])
    assert isinstance(result.exception, UsageError)
    assert result.exception.code == 2


def test_a_folder_beside_the_schema_is_refused(tmp_path: Path) -> None:
    error = runner.invoke(app, ["init", str(tmp_path / "site"), "--schema"]).exception
    assert isinstance(error, UsageError)
    assert error.reference == "init-schema-dir"
    assert list(tmp_path.iterdir()) == []


def test_schema_goes_to_stdout() -> None:
    document = json.loads(runner.invoke(app, ["init", "--schema"]).stdout)
    assert "cluster_name" in document["$defs"]["Spec"]["properties"]

"""Make targets, paths and commands that the documents name exist, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpustack.steps.prereqs.host import HOST_PYTHONS
from tests.documents import DOCUMENTS, ROOT, list_commands
from tests.lab.gpus.documented import PAGES, ROWS

every_text = pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])


@every_text
def test_make_targets_exist(name: str) -> None:
    named_targets = set(re.findall(r"(?m)(?:`|^)make ([a-z-]+)", (ROOT / name).read_text()))
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    assert named_targets
    assert named_targets - targets == set()


@every_text
def test_paths_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    paths = re.findall(r"`((?:gpustack|playbooks|tests|docs|requirements|inventories)/[\w./-]+)`", text)
    paths += re.findall(r"\]\(([\w./-]+)\)", text)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@every_text
def test_commands_exist(name: str) -> None:
    from typer.main import get_command

    from gpustack.cli.app import app

    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    text = (ROOT / name).read_text()
    blocks = "\n".join(re.findall(r"(?s)```sh\n(.*?)```", text))
    named_commands = set(re.findall(r"`gpustack ([a-z]+)", text) + re.findall(r"(?m)^gpustack ([a-z]+)", blocks))
    assert named_commands
    assert named_commands - commands == set()


def test_the_readme_links_to_every_page() -> None:
    text = (ROOT / "README.md").read_text()
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f"(docs/{path.name}" not in text] == []


def test_user_pages_send_nobody_to_the_page_for_contributors() -> None:
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name not in ("how-to-add.md", "simulated.md")]
    assert [path.name for path in pages if "CONTRIBUTING.md" in path.read_text()] == []


def test_documents_name_the_inventory_that_init_writes() -> None:
    texts = {path.name: path.read_text() for path in DOCUMENTS if "decisions" not in path.parts}
    folders = {(name, place) for name, text in texts.items() for place in re.findall(r"([\w/]+)/group_vars/all", text)}
    assert {place for _, place in folders if not (ROOT / place).is_dir()} == {"mycluster"}, folders


def test_the_readme_links_the_program_on_a_bare_account(tmp_path: Path) -> None:
    """An account that is new has no ~/.local/bin."""
    blocks = re.findall(r"(?s)```sh\n(.*?)```", (ROOT / "README.md").read_text())
    lines = [line for block in blocks for line in block.splitlines() if "~/.local/bin" in line]
    program = tmp_path / "gpustack" / "bin" / "gpustack"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho linked\n")
    program.chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = ["sh", "-ec", "\n".join(lines)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert (process.stdout, process.stderr) == ("linked\n", "")


def test_the_readme_names_the_oldest_python_of_hosts() -> None:
    text = (ROOT / "README.md").read_text()
    (major, minor), _ = max(HOST_PYTHONS.values())
    assert f"SSH and Python {major}.{minor} or newer" in text


def test_the_index_for_programs_has_every_document() -> None:
    text = (ROOT / "llms.txt").read_text()
    paths = [path.relative_to(ROOT) for path in DOCUMENTS if "values" not in path.parts]
    assert [path for path in paths if f"({path})" not in text] == []


def list_anchors(path: Path) -> set[str]:
    """List the anchors of the headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text())
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]*)\)", document.read_text()):
        file, _, anchor = target.partition("#")
        path = document.parent / file if file else document
        assert path.exists(), target
        assert not anchor or anchor in list_anchors(path), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_row_of_a_table_has_the_cells_of_its_heading(document: Path) -> None:
    """A bar within backticks ends a cell, unless a backslash is before it."""
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text())
    tables = [table.splitlines() for table in re.findall(r"(?m)(?:^\|.*\n)+", text)]
    rows = [(len(re.findall(r"(?<!\\)\|", row)), row, table[0]) for table in tables for row in table]
    assert [row for cells, row, head in rows if cells != len(re.findall(r"(?<!\\)\|", head))] == []


def test_the_lab_runs_every_command_of_the_documents_about_gpus() -> None:
    """tests/lab/gpus/test_documents.py, as the table says; no row is left over."""
    command_lines = [line for page in PAGES for line in list_commands(ROOT / "docs" / page)]
    assert list(ROWS) == list(dict.fromkeys(command_lines))


def test_the_page_about_the_exporter_is_as_the_catalogue_has_it() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "troubleshooting"), "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, f"{process.stderr}run `scripts/troubleshooting` and read what changed"


def test_the_tests_that_findings_of_readers_name_exist() -> None:
    names = re.findall(r"`([a-z_/]+/test_[a-z_]+)`", (ROOT / "docs" / "reader-findings.md").read_text())
    assert len(names) > 40
    assert [name for name in names if not (ROOT / "tests" / f"{name}.py").is_file()] == []

"""Texts that we write ourselves are no secrets: pages, documents, shown outputs, and our ids before a sentence."""

from pathlib import Path

import pytest
import yaml

from gpustack.ask.redact.redact import redact

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "gpustack" / "pages").glob("*.yaml"))
CATALOGUE = sorted((ROOT / "gpustack" / "doctor" / "catalogue").glob("*.yaml"))
# An option such as --ask-become-pass stands before its help as it stands before a secret. Nothing redacts this page.
DOCUMENTS = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "commands.md")
SHOWN_TEXTS = sorted(path for path in (ROOT / "tests" / "golden").rglob("*") if path.is_file())


@pytest.mark.parametrize("path", [*PAGES, *CATALOGUE, *DOCUMENTS, *SHOWN_TEXTS], ids=lambda path: path.name)
def test_a_text_of_ours_stays(path: Path) -> None:
    text = path.read_text()
    assert redact(text) == text


def test_an_id_before_a_sentence_is_no_name_of_a_secret() -> None:
    ids = [id for path in (*PAGES, *CATALOGUE) for id in yaml.safe_load(path.read_text())]
    ids += [path.name for path in (ROOT / "tests" / "cases").iterdir()]
    assert len(ids) > 200
    texts = [f"{id}: vm1 did not answer" for id in ids]
    assert [redact(line) for line in texts] == texts

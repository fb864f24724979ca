"""The readers of outside data accept spoiled contents, or refuse them with an error of the product.

Anything else would be an internal error, exit status 70. `make fuzz` tries other cases each time."""

from pathlib import Path

import pytest
from hypothesis import given

from tests.unit.hostile import api_readers, file_readers, query_readers
from tests.unit.hostile.profile import LIMIT, READER_CASES, SEED
from tests.unit.hostile.reader import Reader

pytestmark = pytest.mark.timeout(LIMIT)
READERS = (*query_readers.READERS, *file_readers.READERS, *api_readers.READERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contents")


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_contents_that_are_right_are_accepted(reader: Reader, folder: Path) -> None:
    assert [reader.try_content(content, folder) for content in reader.load()].count(True)


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@READER_CASES
@given(seed=SEED)
def test_a_spoiled_content_is_refused_or_accepted(reader: Reader, seed: int, folder: Path) -> None:
    for index in range(seed * reader.batch, (seed + 1) * reader.batch):
        assert reader.try_content(reader.build_case(index), folder) in (True, False)

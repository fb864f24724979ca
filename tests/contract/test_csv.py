"""CSV is written in one place, where cells that a spreadsheet would run are known."""

import re

from tests.contract.test_files import ROOT, list_tracked

WRITER = "gpustack/report/csv_text.py"


def test_no_other_module_writes_csv() -> None:
    paths = [
        path
        for path in list_tracked("gpustack/**.py", "lab/**.py")
        if re.search(r"\bcsv\.(?:Dict)?[wW]riter\b", (ROOT / path).read_text())
    ]
    assert [str(path) for path in paths] == [WRITER]
    imports = [
        path
        for path in list_tracked("gpustack/**.py", "lab/**.py")
        if re.search(r"from csv import|import csv as", (ROOT / path).read_text())
    ]
    assert imports == []

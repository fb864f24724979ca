"""The text of `gpustack profile compare`, on the recorded profiles of examples/."""

import re
from pathlib import Path

from typer.testing import CliRunner

from gpustack.cli.app import app

PROFILES = Path(__file__).parents[3] / "examples" / "profiles"


def compare_in(columns: str) -> str:
    words = ["profile", "compare", str(PROFILES / "before.json"), str(PROFILES / "after.json")]
    return CliRunner().invoke(app, words, env={"COLUMNS": columns}).stdout


def test_quantities_have_the_names_of_an_analysis() -> None:
    output = compare_in("80")
    assert all(f"\n  {label} " in output for label in ("SMs", "memory", "FP32", "PCIe received", "memory used"))
    assert not re.search(r"\b(sm|dram|fp32|pcie_receive|memory_used)\b", output)


def test_a_narrow_terminal_gets_two_rows_for_a_change() -> None:
    output = compare_in("40")
    assert "\n  SMs              22 % to 91 %\n                   +315.6 % ± 24.4 %\n" in output
    assert max(map(len, output.splitlines())) <= 40


def test_a_change_of_unknown_noise_is_not_within_noise() -> None:
    """Temperatures of the two profiles drift."""
    words = ["profile", "compare", str(PROFILES / "before.json"), str(PROFILES / "after.json")]
    output = CliRunner().invoke(app, words).stdout
    within_noise, _, open_changes = output.partition("within noise\n")[2].partition("\n\nnoise unknown\n")
    assert "unknown" not in within_noise
    assert "+9,206.4 %" in output
    assert open_changes.startswith("  temperature ")

"""The text of `gpustack profile compare`, on the recorded profiles of examples/."""

from pathlib import Path

from typer.testing import CliRunner

from gpustack.cli.app import app

PROFILES = Path(__file__).parents[3] / "examples" / "profiles"


def test_a_change_of_unknown_noise_is_not_within_noise() -> None:
    """Temperatures of the two profiles drift."""
    words = ["profile", "compare", str(PROFILES / "before.json"), str(PROFILES / "after.json")]
    output = CliRunner().invoke(app, words).stdout
    within_noise, _, open_changes = output.partition("within noise\n")[2].partition("\n\nnoise unknown\n")
    assert "unknown" not in within_noise
    assert "+9,206.4 %" in output
    assert open_changes.startswith("  temperature ")

"""`gpustack --help` answers at once: what is heavy is imported only by the commands that need it."""

import json
import subprocess
import sys

HEAVY = ("ansible", "ansible_runner", "fabric", "jinja2", "kubernetes", "paramiko", "pydantic", "yaml")


def run(words: list[str], preparation: str = "") -> tuple[int, str, list[str]]:
    """Run a command in a new process, and return its exit code, its output and the modules that it imported."""
    code = (
        "import json, sys\n"
        f"{preparation}\n"
        "from typer.testing import CliRunner\n"
        "from gpustack.cli.app import app\n"
        f"done = CliRunner().invoke(app, {words})\n"
        "print(json.dumps([done.exit_code, done.output, sorted(sys.modules)]))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr
    exit_code, output, imported_modules = json.loads(process.stdout)
    return exit_code, output, imported_modules


def test_help_imports_nothing_heavy() -> None:
    exit_code, _, imported_modules = run(["--help"])
    assert exit_code == 0
    assert [name for name in HEAVY if name in imported_modules] == []


def test_a_report_of_an_address_imports_no_step_and_names_no_host() -> None:
    words = ["capacity", "report", "--prometheus", "http://127.0.0.1:1"]
    exit_code, output, imported_modules = run(words)
    assert exit_code != 0
    assert "gpustack.metrics.web" in imported_modules
    assert [name for name in imported_modules if name.startswith(("gpustack.steps", "gpustack.probes"))] == []
    assert "this host" not in output


def test_without_the_lab_its_heading_names_bundles_alone() -> None:
    absence = "from gpustack.cli import lab_distribution\nlab_distribution.ENTRY_POINTS = 'none-*'"
    assert "Lab and bundles:" in run(["--help"])[1]
    output = run(["--help"], absence)[1]
    assert "\nBundles:" in output
    assert "Lab and bundles:" not in output

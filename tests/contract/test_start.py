"""`gpustack --help` answers at once: what is heavy is imported only by the commands that need it."""

import json
import subprocess
import sys

HEAVY = ("ansible", "ansible_runner", "fabric", "jinja2", "kubernetes", "paramiko", "pydantic", "yaml")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import json, sys\n"
        "from typer.testing import CliRunner\n"
        "from gpustack.cli.app import app\n"
        "done = CliRunner().invoke(app, ['--help'])\n"
        "print(json.dumps([done.exit_code, sorted(sys.modules)]))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr
    status, imported_modules = json.loads(process.stdout)
    assert status == 0
    assert [name for name in HEAVY if name in imported_modules] == []

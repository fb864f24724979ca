"""Who installed the driver of a host, by its record: the part of the real script, on a folder of a test."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.script_file import read_script
from gpustack.probes.gpu import driver

GUARD = "/etc/apt/apt.conf.d/52gpustack-nvidia-driver"
FILE_STATE = "file 0644 0:0 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def find_installer(root: Path, after: str | None, *, guard: bool) -> str:
    """Run the part of the script with a record as playbooks/files/ownership_record.py writes it."""
    script = read_script(driver.__file__, "driver.sh")
    part = re.search(r"(?ms)^guard=.*?^echo \"installer.*?$", script)
    assert part
    if after is not None:
        record = {"kind": "file", "before": "absent", "after": after, "cluster": "", "run": "r", "at": "t"}
        line = f"{json.dumps(GUARD)}: {json.dumps(record, sort_keys=True)}"
        next_line = f"{json.dumps('/etc/x')}: {json.dumps(record | {'after': FILE_STATE}, sort_keys=True)}"
        file = root / "var/lib/gpustack-cluster/owned.json"
        file.parent.mkdir(parents=True)
        file.write_text(f'{{"version": 1, "machine": "m", "records": {{\n{line},\n{next_line}\n}}}}\n')
    if guard:
        (root / GUARD[1:]).parent.mkdir(parents=True)
        (root / GUARD[1:]).touch()
    # The record has the path of the host; only files are looked for below the folder.
    text = part[0].replace("/var/lib", f"{root}/var/lib").replace('-e "$guard"', f'-e "{root}$guard"')
    return subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=20, check=True).stdout


@pytest.mark.parametrize(
    ("after", "guard", "installer"),
    [
        (FILE_STATE, True, "gpustack"),
        (FILE_STATE, False, "gpustack"),
        ("", True, "gpustack"),
        ("", False, "others"),
        ("absent", False, "others"),
        (None, False, "others"),
        (None, True, "others"),
    ],
)
def test_the_record_says_who_installed_the_driver(
    tmp_path: Path, after: str | None, installer: str, *, guard: bool
) -> None:
    """A step that was broken off has no state after it, and its file is there; in mode container it never writes it."""
    assert find_installer(tmp_path, after, guard=guard) == f"installer {installer}\n"

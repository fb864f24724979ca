"""The script of disks asks for the directory of pods' logs where it is a file system of its own."""

import subprocess
from pathlib import Path

import pytest

from gpustack.ask.script_file import read_script
from gpustack.probes.host import disk

PODS = "/var/log/pods"
# The device of each directory (stat(1)), and a full file system as df printed it on a Debian 12 lab host.
STAT = '#!/bin/sh\ncase "$3" in {pods}) {answer} ;; *) echo 21 ;; esac\n'
DF = '#!/bin/sh\necho File\nfor path in "$@"; do case $path in {pods}) echo "$path 307200 0 3000 0" ;; esac; done\n'


@pytest.mark.parametrize(
    ("answer", "rooms"),
    [("echo 98", [f"{PODS} 307200 0 3000 0"]), ("echo 21", []), ("exit 1", [])],
    ids=["of-its-own", "of-the-host", "absent"],
)
def test_the_directory_of_logs_is_asked_for_where_it_is_a_file_system(
    tmp_path: Path, answer: str, rooms: list[str]
) -> None:
    for name, text in {"stat": STAT, "df": DF}.items():
        (tmp_path / name).write_text(text.format(pods=PODS, answer=answer))
        (tmp_path / name).chmod(0o755)
    script = disk.ROOMS_FUNCTION + read_script(disk.__file__, "disk.sh").partition("echo '== mounts'")[0]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.splitlines()[1:] == rooms

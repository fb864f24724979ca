"""A tethered program ends with the process that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CODE = """
import subprocess, sys, time
from pathlib import Path
from gpustack.rollout.tether import tethered
path = tethered("tail", Path(sys.argv[1]))
child = subprocess.Popen(["tail", "-f", "/dev/null"], env={"PATH": path}, start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_it_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert starter.stdout
    pid = int(starter.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False

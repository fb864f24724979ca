"""The script that finds who holds a device file of NVIDIA, with a real process and no secret in its answer."""

import subprocess
import sys
from pathlib import Path

from gpustack.ask.probe import Answer
from gpustack.ask.script import format_command
from gpustack.probes.gpu.device_holders import DEVICE_HOLDERS


def test_a_process_is_shown_without_its_options(tmp_path: Path) -> None:
    device = tmp_path / "nvidia0"
    device.touch()
    program = f"import time; handle = open({str(device)!r}); print('open', flush=True); time.sleep(60)"
    path = tmp_path / "holder"
    path.write_text(f"#!{sys.executable}\n{program}\n")
    path.chmod(0o755)
    with subprocess.Popen([path, "--token=s3cret"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            script = format_command(DEVICE_HOLDERS).replace("/dev/nvidia*", f"{tmp_path}/nvidia*")
            answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, timeout=60)
        finally:
            process.kill()
    (holder,) = DEVICE_HOLDERS.extract_fact(Answer(DEVICE_HOLDERS.id, "h1", 0, answer.stdout))
    assert (holder.pid, holder.pod_uid, "s3cret" in answer.stdout) == (process.pid, "", False)
    assert holder.command == f"{sys.executable} {path}"

"""containerd's journal tells of containers that do not end, and of a pause image that is not pulled. The lines are in
words recorded of 2.3.7, shortened."""

import re
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Lines
from gpustack.probes.containerd.pods import SANDBOX, STUCK_NOW

POD, CONTAINER = "2b3d07c4c3351e07", "23fcdfa4a9684bdb"
FAILED_STOP = (
    f'time="2026-11-23T00:45:00.020326846Z" level=error msg="StopPodSandbox for \\"{POD}\\" failed" error="rpc '
    f'error: code = Unknown desc = failed to stop container \\"{CONTAINER}\\": '
    f'failed to kill container \\"{CONTAINER}\\": no"'
)
ENDED_STOP = (
    f'time="2026-11-23T00:46:24.727528844Z" level=info msg="StopPodSandbox for \\"{POD}\\" returns successfully"'
)
REFUSED_REMOVAL = (
    f'time="2026-11-23T00:47:00Z" level=error msg="StopContainer for \\"{CONTAINER}\\" failed" error="unable '
    'to signal init: permission denied"'
)
NOT_STOPPED = f"{POD[:12]}: failed to stop container, failed to kill container"
NOT_SIGNALLED = f"{CONTAINER[:12]}: unable to signal init, permission denied"
# A registry's answer with a signed address in it.
PULLED_IMAGE = (
    'time="2026-11-22T16:32:47Z" level=error msg="RunPodSandbox for name:\\"figleaf\\" failed, error" '
    'error="failed to pull image \\"registry.lab/pause:0.0\\": GET https://registry.lab/v2/?X-Amz-Signature=figleaf: '
    'unexpected status: 403 Forbidden"'
)


@pytest.mark.parametrize(
    ("lines", "stuck"),
    [
        ([], ""),
        (['msg="figleaf \\"a" failed to stop container figleaf'], "failed to stop container"),
        ([FAILED_STOP], NOT_STOPPED),
        ([FAILED_STOP, ENDED_STOP], ""),
        ([ENDED_STOP, FAILED_STOP], NOT_STOPPED),
        ([FAILED_STOP, REFUSED_REMOVAL, ENDED_STOP], NOT_SIGNALLED),
        ([REFUSED_REMOVAL, FAILED_STOP], NOT_STOPPED),
    ],
)
def test_only_what_did_not_end_later_is_stuck(lines: list[str], stuck: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    process = subprocess.run(["awk", "-F", '"', STUCK_NOW], input=text, capture_output=True, text=True, check=True)
    assert process.stdout == (f"| {stuck}\n" if stuck else "")


def test_of_a_failed_pull_the_reason_is_printed_and_no_text_of_others(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(f"{PULLED_IMAGE}\n")
    assert isinstance(SANDBOX.question, Lines)
    script = re.sub(r"^journalctl .*\|$", f"cat {tmp_path}/journal |", SANDBOX.question.script, flags=re.MULTILINE)
    script = script[script.index("echo '== failed'") :]
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "== failed\n| failed to pull image, 403 Forbidden\n"

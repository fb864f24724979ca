"""What containerd says of containers that do not end, in words recorded of 2.3.7, shortened."""

import subprocess

import pytest

from gpustack.probes.containerd.pods import STUCK_NOW

ONE, OTHER = "2b3d07c4c3351e07", "23fcdfa4a9684bdb"
FAILED = (
    f'time="2026-11-23T00:45:00.020326846Z" level=error msg="StopPodSandbox for \\"{ONE}\\" failed" error="rpc '
    f'error: code = Unknown desc = failed to stop container \\"{OTHER}\\": failed to kill container \\"{OTHER}\\": no"'
)
ENDED = f'time="2026-11-23T00:46:24.727528844Z" level=info msg="StopPodSandbox for \\"{ONE}\\" returns successfully"'
REFUSED = (
    f'time="2026-11-23T00:47:00Z" level=error msg="StopContainer for \\"{OTHER}\\" failed" error="unable to signal '
    'init: permission denied"'
)


@pytest.mark.parametrize(
    ("lines", "stuck"),
    [
        ([], ""),
        ([FAILED], FAILED),
        ([FAILED, ENDED], ""),
        ([ENDED, FAILED], FAILED),
        ([FAILED, REFUSED, ENDED], REFUSED),
        ([REFUSED, FAILED], FAILED),
    ],
)
def test_only_what_did_not_end_later_is_stuck(lines: list[str], stuck: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(["awk", "-F", '"', STUCK_NOW], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == (f"| {stuck}\n" if stuck else "")

"""Times are asked of a systemctl as that of systemd 247 to 250: it prints times for the zone of TZ, and does not know
`--timestamp=unix`, which came with systemd 251 (systemd/systemd pull request 22568)."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Answer, Probe, Shell
from gpustack.config.resources import locate_playbooks
from gpustack.probes.containerd.daemon import RUNTIME
from gpustack.probes.host.recent_changes import TIMES
from gpustack.probes.host.units import UNITS, parse_unit_blocks

START_TIME = 1795496640
SYSTEMCTL = f"""#!/bin/sh
case " $* " in
*" --timestamp=unix "*) echo "Invalid value: unix." >&2; exit 1 ;;
*" is-enabled "* | *" is-active "*) exit 0 ;;
esac
at=$(date -d @{START_TIME} '+%a %Y-%m-%d %H:%M:%S %Z')
case " $* " in
*" --value "*) echo "$at" ;;
*) for unit in containerd kubelet; do
  printf 'Id=%s.service\\nLoadState=loaded\\nActiveState=active\\nSubState=running\\nResult=success\\n' "$unit"
  printf 'NRestarts=0\\nUnitFileState=enabled\\nActiveEnterTimestamp=%s\\nActiveExitTimestamp=\\n\\n' "$at"
done ;;
esac
"""
CHINA = "CST-8"
"""A zone whose abbreviation means America to date(1)."""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    for name, text in {
        "systemctl": SYSTEMCTL,
        "crictl": "#!/bin/sh\nexit 1\n",
        "stat": f'#!/bin/sh\necho "${{WRITTEN-{START_TIME}}}"\n',
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(tools: Path, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = {"PATH": f"{tools}:{os.environ['PATH']}", "TZ": CHINA, "LC_ALL": "C"}
    return subprocess.run(["sh", "-c", script], env=path | env, capture_output=True, text=True, timeout=20, check=False)


def run_script(tools: Path, script: str, **env: str) -> str:
    process = run(tools, script, **env)
    assert process.returncode == 0, process.stderr
    return process.stdout


def extract_script(probe: Probe[Any]) -> str:
    assert isinstance(probe.question, Shell)
    return probe.question.script


def test_the_start_of_active_units_is_read(tools: Path) -> None:
    fact = UNITS.extract_fact(Answer("units.services", "h1", 0, run_script(tools, extract_script(UNITS))))
    assert {name: unit.active_since for name, unit in fact.items() if unit} == {
        "containerd": START_TIME,
        "kubelet": START_TIME,
    }


def test_a_systemctl_that_fails_is_no_answer(tools: Path) -> None:
    (tools / "systemctl").write_text("#!/bin/sh\nexit 3\n")
    assert run(tools, extract_script(UNITS)).returncode == 3


def test_a_time_that_date_cannot_read_is_no_answer(tools: Path) -> None:
    (tools / "date").write_text('#!/bin/sh\n[ "$1" != -d ] || exit 1\necho 1\n')
    (tools / "date").chmod(0o755)
    (tools / "systemctl").write_text("#!/bin/sh\necho ActiveEnterTimestamp=soon\n")
    assert run(tools, extract_script(UNITS)).returncode == 1


def test_containerd_that_does_not_answer_is_no_answer(tools: Path) -> None:
    script = extract_script(RUNTIME).split("\n", 1)[1]
    process = run(tools, script)
    assert process.returncode == 1
    times = {name: block["ActiveEnterTimestamp"] for name, block, _ in parse_unit_blocks(process.stdout)}
    assert times["containerd"] == f"@{START_TIME}"


def test_the_boot_time_of_the_host_is_printed(tools: Path) -> None:
    assert f"== booted\n@{START_TIME}\n== files" in run_script(tools, extract_script(TIMES).split("cd /etc")[0])


@pytest.mark.parametrize(
    ("script", "file"),
    [("containerd/files/daemon.sh", "/etc/containerd/config.toml"), ("kubernetes/files/proxy.sh", "proxy.env")],
)
@pytest.mark.parametrize(("later", "restart"), [(0, False), (1, True)])
def test_files_newer_than_the_daemon_restart_it(
    tools: Path, script: str, file: str, later: int, *, restart: bool
) -> None:
    program = tools / Path(file).name
    program.touch()
    words = (locate_playbooks() / "roles" / script).read_text()
    for path in ("/etc/containerd/config.toml", "/etc/gpustack-cluster/proxy.env"):
        words = words.replace(path, str(program) if path.endswith(program.name) else "/nowhere")
    text = run_script(tools, words, WRITTEN=str(START_TIME + later), RESTRICT="true")
    assert (f"restart: {program} is newer" in text) is restart

"""The script of failed units asks for units alone, whatever their descriptions are."""

import subprocess
from pathlib import Path

from gpustack.ask.script_file import read_script
from gpustack.probes.host import failed_units

# Recorded on a Debian 12 lab host: `systemd-run --unit=stubborn sh -c` with three lines, killed.
UNITS = r"""stubborn.service loaded failed failed /usr/bin/sh -c while sleep 1; do
                                        kubectl --kubeconfig /etc/kubernetes/admin.conf -n monitoring patch prometheus monitoring-prometheus --type=merge \
                                          --patch "spec: {serviceMonitorSelector: {matchLabels: {release: monitoring}}}" >/dev/null
                                      done
"""  # noqa: E501 - as it was printed
# Constructed from the form of these lines and systemd.unit(5): an instance of an escaped path, scopes of containerd.
SCOPES = r"""cri-containerd-0f1e.scope loaded failed failed cri-containerd-0f1e.scope
cri-containerd-a7b2.scope loaded failed failed cri-containerd-a7b2.scope
systemd-fsck@dev-disk-by\x2duuid-1B2D\x2d3C4F.service loaded failed failed File System Check
"""
SYSTEMCTL = """#!/bin/sh
case $1 in
  list-units) cat <<'END'
{units}END
  ;;
  show) echo "$*" >>{log}
    # As systemd shows a unit that it does not know.
    case $* in *a7b2.scope) printf 'ActiveState=inactive\\nResult=success\\nNRestarts=0\\n'; exit ;; esac
    printf 'ActiveState=failed\\nResult=signal\\nExecMainCode=2\\nExecMainStatus=9\\nNRestarts=0\\n' ;;
esac
"""


def run_script(tmp_path: Path, units: str) -> list[str]:
    """Run the script with these units. Return the headings of its answer."""
    programs = {"systemctl": SYSTEMCTL.format(units=units, log=tmp_path / "log"), "journalctl": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    script = read_script(failed_units.__file__, "failed_units.sh")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=environment, check=False)
    assert process.returncode == 0, process.stderr
    return [line for line in process.stdout.splitlines() if line.startswith("==")]


def test_a_description_of_several_lines_is_no_unit(tmp_path: Path) -> None:
    assert run_script(tmp_path, UNITS) == ["== stubborn.service"]
    assert [line.split()[-1] for line in (tmp_path / "log").read_text().splitlines()] == ["stubborn.service"]


def test_scopes_come_last_and_forgotten_ones_are_passed_over(tmp_path: Path) -> None:
    name = r"systemd-fsck@dev-disk-by\x2duuid-1B2D\x2d3C4F.service"
    assert run_script(tmp_path, SCOPES) == [f"== {name}", "== cri-containerd-0f1e.scope"]

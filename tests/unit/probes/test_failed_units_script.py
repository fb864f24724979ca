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
SYSTEMCTL = """#!/bin/sh
case $1 in
  list-units) cat <<'END'
{units}END
  ;;
  show) echo "$*" >>{log}; printf 'Result=signal\\nExecMainCode=2\\nExecMainStatus=9\\nNRestarts=0\\n' ;;
esac
"""


def test_a_description_of_several_lines_is_no_unit(tmp_path: Path) -> None:
    log = tmp_path / "log"
    programs = {"systemctl": SYSTEMCTL.format(units=UNITS, log=log), "journalctl": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    script = read_script(failed_units.__file__, "failed_units.sh")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=environment, check=False)
    assert [line for line in process.stdout.splitlines() if line.startswith("==")] == ["== stubborn.service"]
    assert [line.split()[-1] for line in log.read_text().splitlines()] == ["stubborn.service"]

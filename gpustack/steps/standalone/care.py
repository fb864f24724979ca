"""Care of a host without Kubernetes (group gpu_standalone): NVIDIA's diagnostic runs on its idle GPUs once a day.

With care.enabled a systemd timer, gpu-care.timer, starts `dcgmi diag`, level 1, at care.hour UTC. While a process other
than NVIDIA's own monitoring has a GPU open, it is skipped that day. No program is installed: the unit has the few lines
of shell, and the journal has what dcgmi printed. How it ended, node-exporter tells by the time of an empty file for
each result, from which the series and alerts of the daily diagnostic in a cluster are recorded, too. With
care.enabled: false this step removes all of it.

Settings: care. Sources: docs/care.md; systemd.service(5), systemd.timer(5); node_exporter, collector textfile; DCGM
4.6.0, nvvs/plugin_src/software/Software.cpp.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.standalone.care_timer import CARE_TIMER, FOLDER, SERVICE, TIMER
from gpustack.steps.care.diagnostic import FAILED_STATUS, UNKNOWN_STATUS, build_script
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.standalone.files import HEADER
from gpustack.steps.step import Step
from gpustack.vocabulary.care_jobs import PREFIX

RESULTS = ("passed", "failed", "skipped", "unknown")
INSTALL_TIME = "since"
"""The file of the time at which the diagnostic was installed."""
FILES = tuple(f"{PREFIX}{name}.prom" for name in (*RESULTS, INSTALL_TIME))
PROCESS_LIMIT, RUN_LIMIT = 300, 600
"""Seconds: of dcgmi, which may hang with its engine, and of the whole unit."""
# The names are those of /proc/PID/comm, which has 15 characters. A process that draws on a GPU counts: dcgmi would say
# that a test failed. The diagnostic may write files where it runs, and node-exporter reads the first folder.
BODY = f"""\
cd {FOLDER} || exit {UNKNOWN_STATUS}
end() {{ touch {PREFIX}$1.prom; exit $2; }}
for fd in $(find /proc/[0-9]*/fd -maxdepth 1 -lname '/dev/nvidia[0-9]*' 2>/dev/null); do
  pid=${{fd#/proc/}} pid=${{pid%%/*}}
  read -r name 2>/dev/null </proc/$pid/comm || continue
  case $name in nv-hostengine | nvidia-persiste | dcgm-exporter) continue ;; esac
  echo "skipped: process $pid, $name, has a GPU open"
  end skipped 0
done
(
cd /tmp || exit {UNKNOWN_STATUS}
{build_script(f"timeout -k 10 {PROCESS_LIMIT} ")})
case $? in
  0) end passed 0 ;;
  {FAILED_STATUS}) end failed {FAILED_STATUS} ;;
  *) end unknown {UNKNOWN_STATUS} ;;
esac
"""


def quote_command(script: str) -> str:
    """Quote a script as one word of ExecStart=, with a line of the unit file for each of its lines: systemd reads C's
    escapes, $$ and %% in a command, and joins lines at a backslash (systemd.syntax(7), systemd.service(5))."""
    escaped_script = script.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%")
    return '"' + "\\n\\\n".join(escaped_script.splitlines()) + '"'


def build_units(view: View) -> Mapping[str, str]:
    """Build the unit files by name; none where the diagnostic is not to run. Raise FactUnavailable."""
    if not (view.spec.care.enabled and list_gpus(view)):
        return {}
    description = "[Unit]\nDescription=NVIDIA's diagnostic of idle GPUs\n"
    service = f"[Service]\nType=oneshot\nTimeoutStartSec={RUN_LIMIT}\nExecStart=/bin/sh -c {quote_command(BODY)}\n"
    timer = f"[Timer]\nOnCalendar=*-*-* {view.spec.care.hour:02}:00:00 UTC\n\n[Install]\nWantedBy=timers.target\n"
    return {SERVICE: f"{HEADER}{description}\n{service}", TIMER: f"{HEADER}{description}\n{timer}"}


def timer(view: View) -> Result | None:
    """A host with GPUs has the timer of the diagnostic, as the spec asks for it, and it runs and starts at boot."""
    units = build_units(view)
    if not units:
        return None
    actual = view[CARE_TIMER]
    differences = [f"no {unit}" for unit in units if unit not in actual.digests]
    differences += [
        f"{unit} with other content"
        for unit, text in units.items()
        if unit in actual.digests and actual.digests[unit] != hashlib.sha256(text.encode()).hexdigest()
    ]
    differences += [f"{unit} changed and not read by systemd" for unit in sorted(actual.stale_units)]
    if not differences and not (actual.active and actual.enabled):
        differences = [f"{TIMER} not {'enabled at boot' if actual.active else 'active'}"]
    differences += [f"no {name}" for name in FILES if name not in actual.results]
    return Result("timer of the diagnostic", "as in the spec", format_value(differences)) if differences else None


def leftovers(view: View) -> Result | None:
    """The host has no timer of the diagnostic and no result of it, where the spec does not ask for them."""
    if build_units(view):
        return None
    actual = view[CARE_TIMER]
    names = [*actual.digests, *(name for name in actual.results if name in FILES)]
    return Result("files of the diagnostic that nothing asks for", "none", format_value(names)) if names else None


def build_part(view: View) -> dict[str, Any]:
    """Build what the role reads. Raise FactUnavailable."""
    return {"units": [{"name": name, "text": text} for name, text in build_units(view).items()]}


STEP = Step(
    "standalone-care",
    scope="host",
    probes=(GPU_DEVICES, CARE_TIMER),
    checks=(timer, leftovers),
    needs=("standalone-exporters",),
    includes_host=lambda host: host.standalone,
)

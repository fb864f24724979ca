"""Probes become one POSIX script.

Sent on stdin, never in argv (a script in argv is visible to all users and logged by sudo). Every probe runs under
`timeout` with its stdin closed. What it prints travels as it is, between lines that begin with a random marker which no
probe knows, so that a talkative dotfile or binary output cannot be mistaken for ours (read back in ask/answers.py).
A shell and a `timeout` per probe is all that is started on the host, and nothing is written there. `timeout` leads a
process group of its own, which is ended with the probe: what a probe leaves behind would talk into the next answer.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask import api
from gpustack.ask.probe import Api, Probe

HEAD = r"""set -u
LC_ALL=C; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH
p() {
  read -r up _ </proc/uptime
  printf '\n%s %s %s\n' "$M" "$1" "$up"
  printf '\n%s !%s\n' "$M" "$1" >&2
  timeout -k 1 "$(($2 * ${TIMEOUT_FACTOR:-1}))" sh -c "$3" </dev/null &
  wait "$!"
  r=$?
  kill -s KILL -- "-$!" 2>/dev/null
  read -r up _ </proc/uptime
  printf '\n%s . %d %s\n' "$M" "$r" "$up"
}
"""


def build_last_line(marker: str) -> str:
    """The line that ends both outputs."""
    return f"{marker} done"


def render(probes: Sequence[Probe[Any]], marker: str, exported: Mapping[str, str]) -> str:
    """The whole script. `exported` are the variables that probe scripts may read."""
    names = "".join(f"{name}={shlex.quote(value)}; export {name}\n" for name, value in sorted(exported.items()))
    shell = [probe for probe in probes if not isinstance(probe.ask, Api)]
    asked = "".join(f"p {probe.id} {probe.limit} {shlex.quote(command(probe))}\n" for probe in shell)
    if len(shell) < len(probes):
        asked += api.FUNCTION + api.render_calls([probe for probe in probes if isinstance(probe.ask, Api)], exported)
    end = f"printf '\\n%s\\n' '{build_last_line(marker)}'"
    return f"M={marker}\n{HEAD}{names}{asked}{end} >&2\n{end}\nexit 0\n"


def command(probe: Probe[Any], named: Mapping[str, str] = api.NOTHING) -> str:
    """What this probe asks, as a person could type it on the host. `named` are variables of paths."""
    if isinstance(probe.ask, Api):
        return api.format_kubectl(api.fill_path(probe.ask.path, named))
    return probe.ask.text.strip()

"""Rendering of probes as one POSIX script.

The script is sent on stdin, never in argv (a script in argv is visible to all users and logged by sudo). Each probe
runs under `timeout` with its stdin closed. Its output is sent unchanged between lines that begin with a random marker
which no probe knows, so that a talkative dotfile or binary output cannot be mistaken for a line of the script (parsed
in ask/answers.py). Only a shell and a `timeout` per probe are started on the host, and nothing is written there.
`timeout` leads a process group of its own, which is ended with the probe: a process left behind would write into the
next answer.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask import api
from gpustack.ask.probe import Api, Probe

# A host may name proxies for all who log in, as in /etc/environment, which sudo and sshd read: kubectl would ask the
# API through them. The same names are empty in plays (playbooks/vars/environment.yml).
PROXY_REMOVAL = (
    "unset HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy ftp_proxy all_proxy no_proxy\n"
)
# kubectl caches the discovery of the API in root's home directory. It works without a cache where it cannot write one.
NO_CACHE = "KUBECACHEDIR=/dev/null; export KUBECACHEDIR\n"
HEAD = (
    PROXY_REMOVAL
    + NO_CACHE
    + r"""set -u
LC_ALL=C; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH
p() {
  read -r uptime _ </proc/uptime
  printf '\n%s %s %s\n' "$M" "$1" "$uptime"
  printf '\n%s !%s\n' "$M" "$1" >&2
  timeout -k 1 "$(($2 * ${TIMEOUT_FACTOR:-1}))" sh -c "$3" </dev/null &
  wait "$!"
  r=$?
  kill -s KILL -- "-$!" 2>/dev/null
  read -r uptime _ </proc/uptime
  printf '\n%s . %d %s\n' "$M" "$r" "$uptime"
}
"""
)


def build_last_line(marker: str) -> str:
    """Build the line that ends both outputs."""
    return f"{marker} done"


def render_script(probes: Sequence[Probe[Any]], marker: str, variables: Mapping[str, str]) -> str:
    """Render the whole script. `variables` are exported, so that the scripts of probes may read them."""
    names = "".join(f"{name}={shlex.quote(value)}; export {name}\n" for name, value in sorted(variables.items()))
    shell = [probe for probe in probes if not isinstance(probe.question, Api)]
    calls = "".join(f"p {probe.id} {probe.limit} {shlex.quote(format_command(probe))}\n" for probe in shell)
    if len(shell) < len(probes):
        calls += api.FUNCTION + api.render_calls(
            [probe for probe in probes if isinstance(probe.question, Api)], variables
        )
    end = f"printf '\\n%s\\n' '{build_last_line(marker)}'"
    return f"M={marker}\n{HEAD}{names}{calls}{end} >&2\n{end}\nexit 0\n"


def format_command(probe: Probe[Any], variables: Mapping[str, str] = api.NO_VARIABLES) -> str:
    """Format the question of a probe as a person could type it on the host. `variables` are filled into paths."""
    if isinstance(probe.question, Api):
        return api.format_kubectl(api.fill_path(probe.question.path, variables))
    return probe.question.script.strip()

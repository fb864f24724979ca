"""Probes become one POSIX script, and its output becomes Answers again.

Sent on stdin, never in argv (a script in argv is visible to all users and logged by sudo). Every probe runs under
`timeout` with its stdin closed; its output travels as base64 behind a random marker, so that a talkative dotfile or
binary output cannot be mistaken for ours. Nothing is written on the host.
"""

import base64
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer, Api, Probe

# Of a shell probe and of an API read, whose answer is pruned once it is here: a node object is 10 to 25 KB.
KEPT, KEPT_API = 256 * 1024, 64 * 1024 * 1024
KEPT_ERR = 8 * 1024
# The credential stays on the host; kubectl is asked as an administrator would ask it there.
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=4s get --raw {path}"

HEAD = r"""set -u
LC_ALL=C; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH
exec 5>&1
asked() {
  { timeout -k 1 "$1" sh -c "$2" </dev/null 2>&3 3>&- 5>&-; printf '\n%d' $? 3>&- 5>&-; } |
    head -c "$3" | base64 -w0 >&5 3>&-
}
p() {
  read -r up _ </proc/uptime
  printf '\n%s %s %s ' "$M" "$1" "$up"
  e=$({ asked "$2" "$3" "$4"; } 3>&1 | head -c KERR | base64 -w0)
  read -r up _ </proc/uptime
  printf ' :%s %s .\n' "$e" "$up"
}
""".replace("KERR", str(KEPT_ERR))


def render(probes: Sequence[Probe[Any]], marker: str, exported: Mapping[str, str]) -> str:
    """The whole script. `exported` are the variables that probe scripts may read."""
    names = "".join(f"{name}={shlex.quote(value)}; export {name}\n" for name, value in sorted(exported.items()))
    asked = "".join(f"p {probe.id} {probe.limit} {shlex.quote(command(probe))} {kept(probe) + 5}\n" for probe in probes)
    return f"M={marker}\n{HEAD}{names}{asked}printf '\\n%s done\\n' \"$M\"\nexit 0\n"


def kept(probe: Probe[Any]) -> int:
    """How many bytes of an answer travel."""
    return KEPT_API if isinstance(probe.ask, Api) else KEPT


def command(probe: Probe[Any]) -> str:
    """What runs on the host for this probe, as a person could type it there."""
    return KUBECTL.format(path=shlex.quote(probe.ask.path)) if isinstance(probe.ask, Api) else probe.ask.text.strip()


def parse(lines: Iterable[str], marker: str, host: str, known: Mapping[str, Probe[Any]]) -> Iterator[Answer]:
    """Answers in the order they arrive. Lines that are not ours are passed over; a broken one yields a lost Answer."""
    for line in lines:
        words = line.rstrip("\n").split(" ")
        if len(words) < 3 or words[0] != marker or words[1] not in known:
            continue
        probe = known[words[1]]
        where = CLUSTER if probe.where == "cluster" else host
        try:
            _, _, start, out, err, end, dot = words
            if dot != "." or not err.startswith(":"):
                raise ValueError("not whole")
            raw = base64.b64decode(out, validate=True)
            took = round(float(end) - float(start), 2)
            yield answer(probe, where, raw, base64.b64decode(err[1:], validate=True), took)
        except ValueError:
            yield Answer(probe.id, where, -1, "", lost="the answer was broken off")


def answer(probe: Probe[Any], where: str, raw: bytes, err: bytes, took: float) -> Answer:
    errors = err.decode(errors="replace")
    body, _, status = raw.rpartition(b"\n")
    if len(raw) > kept(probe) + 4 or not status.isdigit():
        return Answer(probe.id, where, -1, raw[:KEPT].decode(errors="replace"), errors, took, cut=True)
    out = body.decode(errors="replace")
    if isinstance(probe.ask, Api) and probe.ask.keep and status == b"0":
        from gpustack.ask.prune import prune

        out = prune(out, probe.ask.keep)
    return Answer(probe.id, where, int(status), out, errors, took)

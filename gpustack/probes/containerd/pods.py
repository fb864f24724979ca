"""Requirements of pods on containerd: the network, the pause image, an end to containers; and other runtimes on the
host."""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.probes.containerd.daemon import SOCKET
from gpustack.probes.log_lines import strip_prefix
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import parse_sections

ADDRESS = SOCKET.removeprefix("unix://")
IMAGE = re.compile(r"[A-Za-z0-9\[][][A-Za-z0-9./:@_+-]*", re.ASCII)
"""The characters of a reference, with a port, a digest, or an address of IPv6 for its registry
(github.com/distribution/reference, reference.go)."""
# What is told of a line of the journal: nothing of it but these words, since names, addresses and what a registry said
# are of others. First what failed, then why, in the words of containerd, runc, Go's net and crypto/x509, and HTTP.
KINDS = (
    "failed to get sandbox image", "failed to pull image", "failed to stop sandbox container",
    "failed to stop container", "failed to kill container", "unable to signal init", "not found", "no such host",
    "server misbehaving", "i/o timeout", "TLS handshake timeout", "connection refused", "connection reset by peer",
    "no route to host", "network is unreachable", "context deadline exceeded", "context canceled", "unexpected EOF",
    "certificate signed by unknown authority", "certificate has expired", "certificate is not valid",
    "server gave HTTP response to HTTPS client", "authorization failed", "401 Unauthorized", "403 Forbidden",
    "429 Too Many Requests", "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable",
    "no space left on device", "permission denied", "operation not permitted", "no such process",
    "device or resource busy", "ttrpc: closed",
)  # fmt: skip
NAME_KINDS = f"""
  function name_kinds(line, kinds, i, known, named) {{
    known = split("{"|".join(KINDS)}", kinds, "|")
    for (i = 1; i <= known; i++) if (index(line, kinds[i])) named = named ", " kinds[i]
    return substr(named, 3)
  }}"""


@dataclass(frozen=True)
class Network:
    """Hold containerd's network.

    `ready` is the daemon's word, `reason` its message when it last read its files; `newest` is the age in seconds of
    the youngest file of /etc/cni/net.d, None without any.
    """

    ready: bool
    reason: str
    newest: int | None


@dataclass(frozen=True)
class Sandbox:
    """Hold the pause image: its name and whether the host has it.

    `registries` are those of the images that the host has; `pull_error` is the daemon's latest error from pulling it,
    empty for none.
    """

    image: str
    present: bool
    registries: frozenset[str]
    pull_error: str


def parse_network(answer: Answer) -> Network:
    """Parse containerd's network. Raise ValueError or KeyError where the answer has another shape."""
    (clock,), files, (load_status,), status = parse_sections(answer.stdout, "now", "files", "loaded", "status")
    conditions = {entry["type"]: entry for entry in load_json("{" + "\n".join(status))["status"]["conditions"]}
    condition = conditions["NetworkReady"]
    if condition["status"] not in (True, False):
        raise ValueError(condition["status"])
    times = [parse_integer(line) for line in files]
    return Network(
        condition["status"] is True, load_json(load_status), parse_integer(clock) - max(times) if times else None
    )


def parse_sandbox(answer: Answer) -> Sandbox:
    (image,), presence_flags, other_images, failures = parse_sections(
        answer.stdout, "image", "there", "others", "failed"
    )
    if not IMAGE.fullmatch(image) or not all(IMAGE.fullmatch(name) for name in other_images):
        raise ValueError(image)
    error = strip_prefix(failures[0].removeprefix("| ")) if failures else ""
    return Sandbox(image, bool(presence_flags), frozenset(parse_registry(name) for name in other_images), error)


def parse_registry(image: str) -> str:
    """Parse the registry of an image: `a.b/c/d` is of a.b, `c/d` and `d` are of docker.io."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


def parse_stop_error(answer: Answer) -> str:
    """Parse the last error about a container that did not stop, empty for none."""
    lines = answer.stdout.splitlines()
    if len(lines) > 1 or not all(line.startswith("| ") for line in lines):
        raise ValueError(answer.stdout)
    return strip_prefix(lines[0].removeprefix("| ")) if lines else ""


def parse_other_runtimes(answer: Answer) -> tuple[str, ...]:
    """Parse the sockets of other runtimes that are listened on."""
    if unknown_lines := [line for line in answer.stdout.splitlines() if not line.startswith(("/run/", "/var/run/"))]:
        raise ValueError(unknown_lines[0])
    return tuple(sorted(set(answer.stdout.splitlines())))


# The document of crictl ends with its key `status`.
NETWORK = Probe(
    "containerd.network",
    Lines(rf"""[ -S {ADDRESS} ] || exit
echo '== now'
date +%s
echo '== files'
set --
for file in /etc/cni/net.d/*.conf /etc/cni/net.d/*.conflist /etc/cni/net.d/*.json; do
  [ ! -e "$file" ] || set -- "$@" "$file"
done
[ $# -eq 0 ] || stat -Lc %Y "$@"
info=$(crictl --runtime-endpoint {SOCKET} info) || exit
printf '%s\n' "$info" | awk '
  /^  "lastCNILoadStatus": ".*",$/ {{ sub(/^[^:]*: /, ""); sub(/,$/, ""); loaded = loaded $0 "\n"; next }}
  /^  "status": \{{/ {{ within = 1 }}
  within {{ status = status $0 "\n" }}
  END {{ printf "== loaded\n%s== status\n%s", loaded, status }}'"""),
    parse_network,
    manual_command="crictl info; ls -l /etc/cni/net.d",
)
# An image that is not listed by its name and tag may be there by another: of one image only `inspecti` tells
# (`crictl images NAME` of 1.36 lists them all).
# No other image is pulled while a sandbox is made. Older releases say that they failed to get it, 2.3 to pull it.
SANDBOX = Probe(
    "containerd.sandbox",
    Lines(rf"""[ -S {ADDRESS} ] || exit
image=$(containerd config dump 2>/dev/null | sed -nE "s/^ *sandbox(_image)? = ['\"](.*)['\"]\$/\2/p")
image=${{image%%
*}}
printf '== image\n%s\n== there\n' "$image"
image_list=$(crictl --image-endpoint {SOCKET} images)
listing=$(printf '%s\n' "$image_list" | awk -v image="$image" '
  NR != 1 && $1 ":" $2 == image {{there = "yes"}}
  NR != 1 && $1 !~ /</ && !seen[$1]++ && many++ < 100 {{list = list $1 "\n"}}
  END {{printf "%s== others\n%s", there ? "yes\n" : "", list}}')
case $listing in
  yes*) ;;
  *)
    output=$(crictl --image-endpoint {SOCKET} inspecti -q "$image" 2>&1 >/dev/null) && echo yes
    case $output in '' | *'no such image'*) ;; *) exit 1 ;; esac ;;
esac
printf '%s\n' "$listing"
echo '== failed'
journalctl -u containerd --since -15min -o cat --no-pager 2>/dev/null |
  awk '{NAME_KINDS}
    /RunPodSandbox.*failed to (get sandbox|pull) image/ {{line = $0}}
    END {{if (line != "") print "| " name_kinds(line)}}'
exit 0"""),
    parse_sandbox,
    manual_command="containerd config dump | grep sandbox; crictl images",
)
# Of `time="…" level=… msg="StopPodSandbox for \"ID\" …`. What ended when the kubelet asked again is not stuck: a shim
# cannot stop a container while the toolkit's own pod has taken its runtime away.
STUCK_NOW = (
    NAME_KINDS
    + r"""
  /unable to signal init|failed to kill container|failed to stop (sandbox )?container/ {failure[$5] = $0; at[$5] = NR}
  / returns successfully/ {delete failure[$5]}
  END {for (id in failure) if (last < at[id]) last = at[id]
    for (id in failure) if (at[id] == last) {
      print "| " (id ~ /^[0-9a-f]+\\$/ ? substr(id, 1, 12) ": " : "") name_kinds(failure[id])
    }
  }"""
)
STUCK_CONTAINERS = Probe(
    "containerd.stuck-containers",
    Lines(rf"""command -v journalctl >/dev/null || exit
journalctl -u containerd --since -15min -o cat --no-pager 2>/dev/null | awk -F '"' '{STUCK_NOW}'
exit 0"""),
    parse_stop_error,
    manual_command="journalctl -u containerd --since -15min",
)
# Of /proc/net/unix: flag 00010000 is a socket that accepts connections.
RUNTIMES = Probe(
    "containerd.neighbours",
    Lines(
        r"""
awk '$4 == "00010000" && $NF ~ /^(\/var)?\/run\/(crio\/crio|cri-dockerd)\.sock$/ {print $NF}' /proc/net/unix"""
    ),
    parse_other_runtimes,
    manual_command="ss -xl | grep -E 'crio|cri-dockerd'",
)

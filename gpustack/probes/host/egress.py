"""Files that name a proxy or hold a login, compared with the wanted ones, and the proxy of running daemons.

No answer holds a secret: a file, a line or an environment is compared on the host, by a hash with a random salt.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.egress import CA_CERTIFICATES, PATHS
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_integer

Comparison = Literal["same", "other", "none"]

# `way URL`: the proxy of the spec for it, as lines for `curl --config -`. Its address may hold a password, which no
# argument and no environment of a program is to have. Without the file there is none.
PROXY_FUNCTION = r"""proxy_setting() (
  file=/etc/gpustack-cluster/proxy.env
  [ -r "$file" ] || exit 0
  value_of() { sed -n "s/^$1=//p" "$file" | tr -d '"'; }
  case $1 in https:*) proxy=$(value_of HTTPS_PROXY) ;; *) proxy=$(value_of HTTP_PROXY) ;; esac
  printf 'proxy = "%s"\nnoproxy = "%s"\n' "$proxy" "$(value_of NO_PROXY)"
)
"""


@dataclass(frozen=True)
class EgressFile:
    """Describe a file that exists: whether its content is the wanted one, and its mode, as 0600. `trusted` is false for
    certificates of a CA that programs of the host do not trust. `written_at` is in seconds of the epoch, None in
    recordings of earlier releases."""

    content: Comparison
    mode: str
    trusted: bool = True
    written_at: int | None = None


def parse_egress_files(answer: Answer) -> Mapping[str, EgressFile]:
    """Parse the files that exist, by path."""
    files = {}
    for line in answer.stdout.splitlines():
        path, content, mode, owner, *time = line.split(" ")
        files[path] = EgressFile(
            "same" if content == "untrusted" else check_word(content),
            f"{int(mode, 8):04o}" if owner == "root" else f"{mode} of {owner}",
            content != "untrusted",
            parse_integer(time[0]) if time else None,
        )
    return files


def parse_comparisons(answer: Answer) -> Mapping[str, Comparison]:
    """Parse by name whether the host or cluster has the content of the operator's machine, another, or none: the proxy
    of a running unit, or the Secret of a receiver. The result is empty where there is nothing to compare."""
    return {name: check_word(word) for name, word in (line.split(" ") for line in answer.stdout.splitlines())}


def check_word(word: str) -> Comparison:
    if word not in ("same", "other", "none"):
        raise ValueError(word)
    return word  # type: ignore[return-value]


# `is_trusted FILE`: the bundle of the host has every certificate of the file. As in roles/prereqs/files/trust.sh.
TRUST_FUNCTION = rf"""is_trusted() {{
  awk '/^-----BEGIN CERT/ {{ body = ""; next }}
    /^-----END CERT/ {{ if (FILENAME == ARGV[1]) trusted[body]; else if (!(body in trusted)) exit 1 }}
    {{ body = body $0 }}' {CA_CERTIFICATES} "$1" 2>/dev/null
}}
"""
EGRESS = Probe(
    "egress.files",
    Lines(
        TRUST_FUNCTION
        + rf"""for file in {" ".join(path for paths in PATHS.values() for path in paths)}; do
  [ -e "$file" ] || continue
  actual_sum=$({{ printf '%s' "$SALT"; cat "$file"; }} | sha256sum)
  case $EGRESS in *"$file ${{actual_sum%% *}}"*) is=same ;; *) is=other ;; esac
  case "$is $file" in "same "*/ca-certificates/*) is_trusted "$file" || is=untrusted ;; esac
  echo "$file $is $(stat -c '%a %U %Y' "$file")"
done"""
    ),
    parse_egress_files,
    manual_command="ls -l /etc/apt/apt.conf.d/99gpustack-proxy /etc/gpustack-cluster/proxy.env",
)
DAEMONS = Probe(
    "egress.daemons",
    Lines(r"""units='containerd kubelet prometheus-alertmanager'
# shellcheck disable=SC2086 # words
pids=$(systemctl show -p MainPID --value $units) || exit
for unit in $units; do
  # shellcheck disable=SC2086 # words
  set -- $pids
  pid=${1-}
  case $pid in '' | *[!0-9]*) exit 1 ;; esac
  shift
  pids=$*
  [ "$pid" -gt 0 ] && [ -r "/proc/$pid/environ" ] || continue
  is=none
  if grep -qzE '^(HTTP|HTTPS|NO)_PROXY=' "/proc/$pid/environ"; then
    output=$(tr '\0' '\n' <"/proc/$pid/environ" | grep -E '^(HTTP|HTTPS|NO)_PROXY=' | sort)
    actual_sum=$(printf '%s%s\n' "$SALT" "$output" | sha256sum)
    [ "${actual_sum%% *}" = "$EGRESS_DAEMON" ] && is=same || is=other
  fi
  echo "$unit $is"
done"""),
    parse_comparisons,
    manual_command="systemctl show -p Environment containerd kubelet",
)

"""The description of the spec's mirror by itself: the first line of its signed checksums, and the sum of its list of
images.

The signature is not checked by the probe. The role does that, before anything of the mirror is installed.
"""

import re
from dataclasses import dataclass

from gpustack.ask.egress import MIRROR_LOGIN
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.host.egress import PROXY_FUNCTION
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class MirrorState:
    """Hold the reply of the mirror.

    `status` is HTTP's for SHA256SUMS, 0 where nobody answered, or there is no mirror or no curl yet. With 200,
    `simulated` tells whether it serves simulated software, None where the list does not say it, and `images` is the
    SHA-256 of IMAGES, empty where the list lacks it.
    """

    status: int
    simulated: bool | None = None
    images: str = ""


def parse_mirror_state(answer: Answer) -> MirrorState:
    """Parse the reply of the mirror. Raise ValueError where the lines have another shape."""
    *lines, status_line = answer.stdout.splitlines() or ["@ 000"]
    status = parse_integer(status_line.removeprefix("@ "))
    simulated: bool | None = None
    images = ""
    for line in lines if status == 200 else ():
        if match := re.fullmatch(r"# simulated: (yes|no)", line):
            simulated = match[1] == "yes" if simulated is None else simulated
        elif match := re.fullmatch(r"([0-9a-f]{64})  IMAGES", line):
            images = images or match[1]
        else:
            raise ValueError(line)
    return MirrorState(status, simulated, images)


# Through the proxy of the spec and with the login of the mirror, as our own downloads go, once the host has them.
MIRROR_STATE = Probe(
    "mirror.checksums",
    Lines(
        PROXY_FUNCTION
        + rf"""[ -n "$MIRROR" ] && command -v curl >/dev/null || exit 0
{{ proxy_setting "$MIRROR"
[ ! -r {MIRROR_LOGIN} ] || awk -v url="$MIRROR/" '$1 == "machine" && index(url, $2 "/") == 1 {{
  gsub(/[\\"]/, "\\\\&", $6)
  print "user = \"" $4 ":" $6 "\""
}}' {MIRROR_LOGIN}; }} |
  curl -sL -m "$((4 * ${{TIMEOUT_FACTOR:-1}}))" --max-filesize 1000000 --config - \
    -w '\n@ %{{http_code}}\n' "$MIRROR/SHA256SUMS" |
  grep -E '^# simulated: |  IMAGES$|^@ '"""
    ),
    parse_mirror_state,
    manual_command="curl MIRROR/SHA256SUMS",
)

"""What the mirror of the spec says of itself: the first line of its signed checksums, and the sum of its list of
images.

The signature is not looked at here. The role does that, before anything of the mirror is installed.
"""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.config.egress import MIRROR_LOGIN
from gpustack.probes.host.egress import WAY
from gpustack.probes.parsing import number


@dataclass(frozen=True)
class Served:
    """`status` is HTTP's for SHA256SUMS, 0 where nobody answered, or there is no mirror or no curl yet. With 200,
    `purpose` is a word (`lab`, `production`) and `images` the SHA-256 of IMAGES, each empty where the list lacks it."""

    status: int
    purpose: str = ""
    images: str = ""


def read_served(answer: Answer) -> Served:
    """Raises ValueError for lines of another shape."""
    *listed, last = answer.out.splitlines() or ["@ 000"]
    status = number(last.removeprefix("@ "))
    purpose, images = "", ""
    for line in listed if status == 200 else ():
        if found := re.fullmatch(r"# purpose: ([a-z]+)", line):
            purpose = purpose or found[1]
        elif found := re.fullmatch(r"([0-9a-f]{64})  IMAGES", line):
            images = images or found[1]
        else:
            raise ValueError(line)
    return Served(status, purpose, images)


# Through the proxy of the spec and with the login of the mirror, as our own downloads go, once the host has them.
SERVED = Probe(
    "mirror.checksums",
    Lines(
        WAY
        + rf"""[ -n "$MIRROR" ] && command -v curl >/dev/null || exit 0
{{ way "$MIRROR"
[ ! -r {MIRROR_LOGIN} ] || awk -v url="$MIRROR/" '$1 == "machine" && index(url, $2 "/") == 1 {{
  gsub(/[\\"]/, "\\\\&", $6)
  print "user = \"" $4 ":" $6 "\""
}}' {MIRROR_LOGIN}; }} |
  curl -sL -m "$((4 * ${{TIMEOUT_FACTOR:-1}}))" --max-filesize 1000000 --config - \
    -w '\n@ %{{http_code}}\n' "$MIRROR/SHA256SUMS" |
  grep -E '^# purpose: |  IMAGES$|^@ '"""
    ),
    read_served,
    like="curl MIRROR/SHA256SUMS",
)

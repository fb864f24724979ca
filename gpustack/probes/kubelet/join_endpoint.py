"""What the host reaches with a connection of its own: the source of its packages, the API server, a service address."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.host.egress import WAY
from gpustack.probes.parsing import number


@dataclass(frozen=True)
class Tried:
    """`ended` is curl's exit status, `connected` whether a connection was made, `why` what curl says of it."""

    place: str
    ended: int
    connected: bool
    why: str

    @property
    def refused(self) -> bool:
        """Somebody there said no, at once."""
        return self.ended == 7 and "refused" in self.why


def read_attempt(line: str) -> Tried:
    """`place status seconds words`: without a connection it took no time to connect, and curl does not end well. It
    gives microseconds: fewer digits are a line that was cut. Raises ValueError."""
    place, ended, seconds, *why = line.split(" ", 3)
    whole, _, rest = seconds.partition(".")
    if len(rest) != 6:
        raise ValueError(seconds)
    connected = number(whole) > 0 or number(rest) > 0
    if number(ended) == 0 and not connected:
        raise ValueError(line)
    return Tried(place, number(ended), connected, why[0] if why else "")


def source(answer: Answer) -> Tried:
    (line,) = answer.out.splitlines()
    return read_attempt(line)


def ways(answer: Answer) -> Mapping[str, Tried]:
    """`api` and `service`. Raises ValueError unless both are there."""
    found = {name: read_attempt(line) for name, line in (line.split(" ", 1) for line in answer.out.splitlines())}
    if set(found) != {"api", "service"}:
        raise ValueError(sorted(found))
    return found


# Prints `status seconds words`. Only the verbose lines show that nobody listens.
TRY = r"""try() {
  output=$(curl -skv -o /dev/null -m "$((4 * ${TIMEOUT_FACTOR:-1}))" \
    -w '%{stderr}@ %{time_connect} %{errormsg}\n' "$@" 2>&1)
  ended=$?
  words=''
  case "
$output" in *"
@ "*) words=${output##*@ } ;; esac
  case $output in *'Connection refused'*) words="$words: Connection refused" ;; esac
  echo "$ended $words"
}
"""
# Any HTTP status will do. Through the proxy of the spec, as our own downloads go.
SOURCE = Probe(
    "reach.source",
    Lines(
        TRY
        + WAY
        + r"""url=${MIRROR:-https://pkgs.k8s.io/}
echo "$url $(way "$url" | try --config - "$url")" """
    ),
    source,
    like="curl -v SOURCE",
)
# The first address of the service network is the API's own service (kubernetes.default).
API_PATHS = Probe(
    "reach.api",
    Lines(
        TRY
        + r"""ask() { echo "$1 $2 $(try --noproxy '*' "https://$2/livez")"; }
net=${SERVICE_CIDR%/*}
ask api "$API" &
ask service "${net%.*}.$((${net##*.} + 1)):443" &
wait"""
    ),
    ways,
    limit=6,
    like="curl -kv https://CONTROL-PLANE:6443",
)

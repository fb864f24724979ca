"""Endpoints that the host reaches with a connection of its own: the source of its packages, the API server, a service
address."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.host.egress import PROXY_FUNCTION
from gpustack.probes.parsing import parse_integer


@dataclass(frozen=True)
class ConnectionAttempt:
    """Describe an attempt to connect: `curl_rc` is curl's exit status, `connected` whether a connection was made,
    `reason` curl's message."""

    place: str
    curl_rc: int
    connected: bool
    reason: str

    @property
    def refused(self) -> bool:
        """The other end refused the connection at once."""
        return self.curl_rc == 7 and "refused" in self.reason


def parse_attempt(line: str) -> ConnectionAttempt:
    """Parse a line `PLACE STATUS SECONDS WORDS`.

    Without a connection the time to connect is zero, and curl does not end well. curl prints microseconds: fewer digits
    are a truncated line. Raise ValueError where the line has another shape.
    """
    place, curl_rc, seconds, *reasons = line.split(" ", 3)
    whole_seconds, _, fraction = seconds.partition(".")
    if len(fraction) != 6:
        raise ValueError(seconds)
    has_connected = parse_integer(whole_seconds) > 0 or parse_integer(fraction) > 0
    if parse_integer(curl_rc) == 0 and not has_connected:
        raise ValueError(line)
    return ConnectionAttempt(place, parse_integer(curl_rc), has_connected, reasons[0] if reasons else "")


def parse_source_attempt(answer: Answer) -> ConnectionAttempt:
    (line,) = answer.stdout.splitlines()
    return parse_attempt(line)


def parse_attempts(answer: Answer) -> Mapping[str, ConnectionAttempt]:
    """Parse the attempts `api` and `service`. Raise ValueError where one is missing."""
    attempts = {name: parse_attempt(line) for name, line in (line.split(" ", 1) for line in answer.stdout.splitlines())}
    if set(attempts) != {"api", "service"}:
        raise ValueError(sorted(attempts))
    return attempts


# Prints `status seconds words`. Only the verbose lines show that nobody listens.
TRY = r"""try() {
  output=$(curl -skv -o /dev/null -m "$((4 * ${TIMEOUT_FACTOR:-1}))" \
    -w '%{stderr}@ %{time_connect} %{errormsg}\n' "$@" 2>&1)
  code=$?
  words=''
  case "
$output" in *"
@ "*) words=${output##*@ } ;; esac
  case $output in *'Connection refused'*) words="$words: Connection refused" ;; esac
  echo "$code $words"
}
"""
# Any HTTP status will do. Through the proxy of the spec, as our own downloads go.
SOURCE = Probe(
    "reach.source",
    Lines(
        TRY
        + PROXY_FUNCTION
        + r"""url=${MIRROR:-https://pkgs.k8s.io/}
echo "$url $(proxy_setting "$url" | try --config - "$url")" """
    ),
    parse_source_attempt,
    manual_command="curl -v SOURCE",
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
    parse_attempts,
    limit=6,
    manual_command="curl -kv https://CONTROL-PLANE:6443",
)

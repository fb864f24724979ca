"""Addresses of the API's endpoint, as the host resolves its name."""

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.parsing import parse_ipv4


def parse_endpoint_addresses(answer: Answer) -> tuple[str, ...]:
    """Parse IPv4 addresses; none where the name does not resolve."""
    return tuple(parse_ipv4(line) for line in answer.stdout.splitlines())


# As programs of the host resolve it, by /etc/hosts too. getent(1) exits with 2 where there is no such name. An address
# is its own answer.
ENDPOINT_ADDRESSES = Probe(
    "network.endpoint-name",
    Lines(r"""name=${API%:*}
[ -n "$name" ] || exit 0
output=$(getent ahostsv4 "$name")
code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 2 ] || exit "$code"
printf '%s\n' "$output" | awk 'NF && !seen[$1]++ && n++ < 20 {print $1}' """),
    parse_endpoint_addresses,
    manual_command="getent ahostsv4 ENDPOINT",
)

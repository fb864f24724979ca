"""The address from which gpustack connects, as the host sees it."""

from gpustack.ask.addresses import is_address
from gpustack.ask.probe import Answer, Lines, Probe


def parse_controller(answer: Answer) -> str:
    """Parse the address of the SSH client; empty where no login is one of SSH. Raise ValueError where the answer has
    another shape."""
    if not answer.stdout:
        return ""
    client, _, _, _ = answer.stdout.split()
    if not is_address(client):
        raise ValueError(client)
    return client


# sudo drops SSH_CONNECTION (`CLIENT PORT SERVER PORT`), which the login shell above it still has.
CONTROLLER = Probe(
    "network.controller",
    Lines(r"""pid=$$
while [ "${pid:-0}" -gt 1 ]; do
  connection=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^SSH_CONNECTION=//p')
  if [ -n "$connection" ]; then
    echo "$connection"
    exit 0
  fi
  pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status")
done"""),
    parse_controller,
    manual_command="echo $SSH_CONNECTION",
)

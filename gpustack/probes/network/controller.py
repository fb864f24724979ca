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
set --
while [ "${pid:-0}" -gt 1 ]; do
  set -- "$@" "/proc/$pid/environ"
  while read -r key value; do
    [ "$key" != PPid: ] || break
  done <"/proc/$pid/status" || exit
  pid=$value
done
output=$(grep -ahsz -m 1 '^SSH_CONNECTION=' "$@" | tr '\0' '\n')
output=${output%%
*}
[ -z "$output" ] || echo "${output#SSH_CONNECTION=}" """),
    parse_controller,
    manual_command="echo $SSH_CONNECTION",
)

"""The kubelet's own answer about its health and its cgroups. `units.services` has the state of its unit."""

from typing import Literal, get_args

from gpustack.ask.probe import Answer, Lines, Probe, Shell
from gpustack.probes.host.disk import build_space_test

Health = Literal["ok", "failing", "silent"]
Driver = Literal["", "systemd", "cgroupfs"]


def parse_kubelet_health(answer: Answer) -> Health:
    """Parse the health of the kubelet; `silent`: nothing listens.

    Raise ValueError where there is no curl to ask with, and where a success has another text than the kubelet's, so
    that another program answered (k8s.io/apiserver pkg/server/healthz writes `ok`).
    """
    if answer.rc == 0 and answer.stdout.strip() == "ok":
        return "ok"
    if answer.rc == 7:
        return "silent"
    if answer.rc in (22, 28, 52, 56):
        return "failing"
    raise ValueError(answer.stderr or answer.stdout)


# 10248 is healthzPort, which the kubelet binds to the loopback alone. Exit statuses are those of curl(1): 7 could not
# connect, 22 an HTTP error, 28 too late, 52 and 56 an answer that was broken off.
HEALTH = Probe(
    "kubelet.health",
    Shell("curl -sSf -m 2 http://127.0.0.1:10248/healthz"),
    parse_kubelet_health,
    exit_codes=(0, 7, 22, 28, 52, 56),
)


def parse_cgroup_driver(answer: Answer) -> Driver:
    """Parse the cgroup driver, empty where the kubelet does not run or has not answered. Raise ValueError where it is
    an unknown word."""
    driver = answer.stdout.strip()
    if driver not in get_args(Driver):
        raise ValueError(driver)
    return driver  # type: ignore[return-value]


# KEP-4033: since 1.34 it asks the runtime at its own start, and never again. What it said then is at the beginning of
# its log; a kubelet that has run for long may have said more than the journal keeps, one of a full disk left no word.
CGROUPS = Probe(
    "kubelet.cgroups",
    Lines(rf"""command -v journalctl >/dev/null || exit
invocation=$(systemctl show -p InvocationID --value kubelet.service)
[ -n "$invocation" ] || exit 0
output=$(journalctl "_SYSTEMD_INVOCATION_ID=$invocation" -o cat --no-pager 2>/dev/null | sed -nE \
  '/.*"Using cgroup driver setting received from the CRI runtime" cgroupDriver="([a-z]*)".*/{{s//\1/p;q}};2000q')
[ -z "$output" ] || echo "$output"
[ -n "$output" ] || [ ! -d /var/log/journal ] || {build_space_test("/var/log/journal")} && exit 0
echo 'the disk of the journal is full: it does not have the start of the kubelet' >&2
exit 1"""),
    parse_cgroup_driver,
    manual_command="journalctl -u kubelet | grep 'cgroup driver'",
)

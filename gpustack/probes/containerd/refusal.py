"""The judgement of the installed containerd on its files, before anything restarts it, and the last error it logged."""

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.probes.log_lines import strip_prefix


def parse_refusal(answer: Answer) -> str:
    """Parse the words with which containerd refuses its files, as at a start, empty where it accepts them. Raise
    ValueError for words that are not containerd's."""
    words = answer.stdout.strip()
    if words and not words.startswith("containerd: "):
        raise ValueError(words[:80])
    return words.removeprefix("containerd: ")


REFUSAL = Probe(
    "containerd.refusal",
    Lines(r"""command -v containerd >/dev/null || exit 0
output=$(containerd config dump 2>&1 >/dev/null) || printf '%s\n' "$output" | tail -n 1"""),
    parse_refusal,
    manual_command="containerd config dump >/dev/null",
)


def parse_daemon_error(answer: Answer) -> str:
    """Parse the last error that containerd logged in its last run, without time and source; empty for none."""
    return shorten_message(strip_prefix(answer.stdout.removesuffix("\n")))


DAEMON_ERROR = Probe(
    "containerd.last-error",
    Lines(r"""command -v journalctl >/dev/null || exit
journalctl -b -n 200 -o cat --no-pager _SYSTEMD_UNIT=containerd.service 2>/dev/null | tr -cd '\11\12\40-\176' |
  grep -E 'level=(error|fatal|panic)|^containerd: |^panic: |^fatal error: ' | tail -n 1"""),
    parse_daemon_error,
    manual_command="journalctl -u containerd -b",
)

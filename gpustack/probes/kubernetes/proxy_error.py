"""The last error in the log of kube-proxy's pod on a host."""

from dataclasses import dataclass

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.log_lines import CRI, strip_prefix
from gpustack.probes.parsing import parse_optional_time


@dataclass(frozen=True)
class ProxyError:
    """Hold an error without its time and source. `seconds_ago` is None where it is not known, as in recordings of
    older releases."""

    message: str
    seconds_ago: float | None


def parse_last_error(answer: Answer) -> ProxyError | None:
    """Parse the last error that kube-proxy logged and the time of the host; None for no error. Raise ValueError where a
    time has another shape."""
    lines = answer.stdout.splitlines()
    if not lines or not CRI.match(lines[0]):
        return None
    logged_at = parse_optional_time(lines[0].partition(" ")[0])
    current_time = parse_optional_time(lines[1]) if len(lines) > 1 else None
    seconds_ago = (current_time - logged_at).total_seconds() if current_time and logged_at else None
    return ProxyError(shorten_message(strip_prefix(lines[0])), seconds_ago)


PROXY_ERROR = Probe(
    "kube-proxy.last-error",
    Lines(read_script(__file__, "proxy_error.sh")),
    parse_last_error,
    manual_command="tail /var/log/pods/kube-system_kube-proxy-*/kube-proxy/*.log",
)

"""The last error in the log of kube-proxy's pod on a host."""

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.log_lines import strip_prefix


def parse_last_error(answer: Answer) -> str:
    """Parse the last error that kube-proxy logged, without its time and source; empty for none."""
    return shorten_message(strip_prefix(answer.stdout.removesuffix("\n")))


PROXY_ERROR = Probe(
    "kube-proxy.last-error",
    Lines(read_script(__file__, "proxy_error.sh")),
    parse_last_error,
    manual_command="tail /var/log/pods/kube-system_kube-proxy-*/kube-proxy/*.log",
)

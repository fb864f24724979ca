"""The present and the last run of kube-proxy's pods, and the last error in their log."""

from dataclasses import dataclass
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.log_lines import strip_prefix


@dataclass(frozen=True)
class ProxyPod:
    """Describe a pod of kube-proxy by the kubelet's words.

    `waiting` is why its container does not run, empty where it runs; `exit_code` and `reason` are those of its last
    run, None and empty where no run has ended; `restarts` counts the runs before the present one.
    """

    node: str
    waiting: str
    exit_code: int | None
    reason: str
    restarts: int

    @property
    def ending(self) -> str:
        """The end of the last run in words, empty where none ended, or where it ended with 0."""
        if not self.exit_code:
            return ""
        return f"ended with exit code {self.exit_code} ({self.reason or 'no reason'}), {self.restarts} restarts"


def parse_proxy_pod(entry: Any) -> ProxyPod:
    status: Any = next(iter(entry.get("status", {}).get("containerStatuses", ())), {})
    state = status.get("state", {})
    ended_run = state.get("terminated") or status.get("lastState", {}).get("terminated") or {}
    return ProxyPod(
        str(entry.get("spec", {}).get("nodeName", "")),
        str(state.get("waiting", {}).get("reason", "")),
        ended_run.get("exitCode"),
        str(ended_run.get("reason", "")),
        status.get("restartCount", 0),
    )


def parse_last_error(answer: Answer) -> str:
    """Parse the last error that kube-proxy logged, without its time and source; empty for none."""
    return shorten_message(strip_prefix(answer.stdout.removesuffix("\n")))


PROXY_PODS = Probe(
    "kube-proxy.pods",
    Api(
        "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy",
        (
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            *(f"status.containerStatuses.{field}" for field in ("restartCount", "state", "lastState")),
        ),
    ),
    parse_each(parse_proxy_pod),
)
PROXY_ERROR = Probe(
    "kube-proxy.last-error",
    Lines(read_script(__file__, "proxy_error.sh")),
    parse_last_error,
    manual_command="tail /var/log/pods/kube-system_kube-proxy-*/kube-proxy/*.log",
)

"""Answers of exporters and Prometheus of a host without Kubernetes on its loopback interface."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.config.ports import UNIT_PORTS
from gpustack.files.json_text import load_json
from gpustack.files.number import parse_number
from gpustack.probes.parsing import FLAGS, parse_integer
from gpustack.probes.sections import index_sections, split_sections
from gpustack.probes.standalone.units import ALERTMANAGER, PROMETHEUS

GROUP = re.compile(r'prometheus_rule_group_rules\{rule_group="([^";]+);([^"]+)"\} ([0-9.e+]+)')
NO_ANSWER = "none"


@dataclass(frozen=True)
class ExporterState:
    """Describe the exporters. `gpus` are those with series, None where nothing answers; `node`: node-exporter
    answers."""

    gpus: int | None
    node: bool


@dataclass(frozen=True)
class MonitoringState:
    """Describe the monitoring. `ready` are programs that report to be so. `rules` are counts of loaded rules by (file,
    group), `job_health` the last scrape by job."""

    ready: frozenset[str]
    rules: Mapping[tuple[str, str], int]
    job_health: Mapping[str, bool]


def parse_exporter_state(answer: Answer) -> ExporterState:
    """Parse the state of the exporters. Raise ValueError or KeyError where the answer has another shape."""
    words = dict(line.split(" ", 1) for line in answer.stdout.splitlines())
    return ExporterState(None if words["gpus"] == NO_ANSWER else parse_integer(words["gpus"]), FLAGS[words["node"]])


def parse_monitoring_state(answer: Answer) -> MonitoringState:
    """Parse the state of the monitoring. Raise ValueError or KeyError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    matches = [GROUP.fullmatch(line) for line in parts["rules"]]
    if not all(matches):
        raise ValueError("a group of rules of another shape")
    rules = {(match[1], match[2]): int(parse_number(match[3], 0)) for match in matches if match}
    job_health = {}
    for line in parts["up"]:
        for sample in load_json(line)["data"]["result"]:
            job_health[str(sample["metric"]["job"])] = sample["value"][1] == "1"
    return MonitoringState(frozenset(parts["ready"]), rules, job_health)


# All that node-exporter serves is read: it logs each metric as an error that a client leaves behind.
EXPORTER_STATE = Probe(
    "standalone.exported",
    Lines(r"""get() { curl -sf --noproxy '*' --max-time 3 "http://127.0.0.1:$1/metrics"; }
reply=$(get "$GPU_EXPORTER_PORT") && reply=$(printf '%s\n' "$reply" | sed -n 's/^DCGM_FI_.*UUID="\([^"]*\)".*/\1/p' |
  sort -u | grep -c .) || reply=${reply:-none}
echo "gpus $reply"
count=$(get "$NODE_EXPORTER_PORT" | grep -c '^node_')
if [ "$count" -gt 0 ]; then echo 'node yes'; else echo 'node no'; fi
exit 0"""),
    parse_exporter_state,
    limit=8,
    manual_command="curl -s http://127.0.0.1:9400/metrics",
)
MONITORING_STATE = Probe(
    "standalone.watching",
    Lines(rf"""get() {{ curl -sf --noproxy '*' --max-time 3 "$@"; }}
echo '== ready'
! get http://127.0.0.1:{UNIT_PORTS[PROMETHEUS]}/-/ready >/dev/null || echo prometheus
! get http://127.0.0.1:{UNIT_PORTS[ALERTMANAGER]}/-/ready >/dev/null || echo prometheus-alertmanager
echo '== rules'
get http://127.0.0.1:{UNIT_PORTS[PROMETHEUS]}/metrics | grep '^prometheus_rule_group_rules{{'
echo '== up'
! reply=$(get 'http://127.0.0.1:{UNIT_PORTS[PROMETHEUS]}/api/v1/query?query=up') || printf '%s\n' "$reply"
echo '== end'"""),
    parse_monitoring_state,
    limit=12,
    manual_command=f"curl -s http://127.0.0.1:{UNIT_PORTS[PROMETHEUS]}/api/v1/query?query=up",
)

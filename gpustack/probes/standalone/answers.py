"""What exporters and Prometheus of a host without Kubernetes answer on its loopback interface."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.files.json_text import load_json
from gpustack.files.number import parse_number
from gpustack.probes.parsing import number
from gpustack.probes.sections import named, sections
from gpustack.probes.standalone.units import ALERTMANAGER, PORTS, PROMETHEUS

GROUP = re.compile(r'prometheus_rule_group_rules\{rule_group="([^";]+);([^"]+)"\} ([0-9.e+]+)')
NOTHING = "none"


@dataclass(frozen=True)
class Exported:
    """`gpus` are those with series, None where nothing answers; `node`: node-exporter answers."""

    gpus: int | None
    node: bool


@dataclass(frozen=True)
class Watching:
    """`ready` are programs that say so of themselves. `rules` are counts of loaded rules by (file, group), `up` the
    last scrape by job."""

    ready: frozenset[str]
    rules: Mapping[tuple[str, str], int]
    up: Mapping[str, bool]


def exported(answer: Answer) -> Exported:
    """Raises ValueError or KeyError for an answer of another shape."""
    found = dict(line.split(" ", 1) for line in answer.out.splitlines())
    return Exported(
        None if found["gpus"] == NOTHING else number(found["gpus"]), {"yes": True, "no": False}[found["node"]]
    )


def watching(answer: Answer) -> Watching:
    """Raises ValueError or KeyError for an answer of another shape."""
    parts = named(sections(answer.out))
    matches = [GROUP.fullmatch(line) for line in parts["rules"]]
    if not all(matches):
        raise ValueError("a group of rules of another shape")
    rules = {(match[1], match[2]): int(parse_number(match[3], 0)) for match in matches if match}
    up = {}
    for line in parts["up"]:
        for sample in load_json(line)["data"]["result"]:
            up[str(sample["metric"]["job"])] = sample["value"][1] == "1"
    return Watching(frozenset(parts["ready"]), rules, up)


EXPORTED = Probe(
    "standalone.exported",
    Lines(r"""get() { curl -sf --noproxy '*' --max-time 3 "http://127.0.0.1:$1/metrics"; }
found=$(get "$GPU_EXPORTER_PORT") && found=$(printf '%s\n' "$found" | sed -n 's/^DCGM_FI_.*UUID="\([^"]*\)".*/\1/p' |
  sort -u | grep -c .) || found=${found:-none}
echo "gpus $found"
if get "$NODE_EXPORTER_PORT" | grep -q '^node_'; then echo 'node yes'; else echo 'node no'; fi
exit 0"""),
    exported,
    limit=8,
    like="curl -s http://127.0.0.1:9400/metrics",
)
WATCHING = Probe(
    "standalone.watching",
    Lines(rf"""get() {{ curl -sf --noproxy '*' --max-time 3 "$@"; }}
echo '== ready'
! get http://127.0.0.1:{PORTS[PROMETHEUS]}/-/ready >/dev/null || echo prometheus
! get http://127.0.0.1:{PORTS[ALERTMANAGER]}/-/ready >/dev/null || echo prometheus-alertmanager
echo '== rules'
get http://127.0.0.1:{PORTS[PROMETHEUS]}/metrics | grep '^prometheus_rule_group_rules{{'
echo '== up'
! found=$(get 'http://127.0.0.1:{PORTS[PROMETHEUS]}/api/v1/query?query=up') || printf '%s\n' "$found"
echo '== end'"""),
    watching,
    limit=12,
    like=f"curl -s http://127.0.0.1:{PORTS[PROMETHEUS]}/api/v1/query?query=up",
)

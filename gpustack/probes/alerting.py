"""What Prometheus and Alertmanager say of rules and receivers that they work with."""

from collections import Counter
from collections.abc import Mapping
from json import loads

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.monitoring import instant
from gpustack.probes.read import yaml_mapping


def loaded(answer: Answer) -> Mapping[str, int]:
    """Number of rules by group, of those in our PrometheusRules. Raises ValueError for what is no instant query.

    Prometheus calls a group FILE;NAME, and the operator calls the file NAMESPACE-NAME-UID.yaml.
    """
    body = loads(answer.out)
    if body["status"] != "success" or body["data"]["resultType"] != "vector":
        raise ValueError(answer.out[:200])
    found: Counter[str] = Counter()
    for sample in body["data"]["result"]:
        _, _, name = str(sample["metric"]["rule_group"]).rpartition(";")
        found[name] += int(float(sample["value"][1]))
    return dict(found)


def receivers(answer: Answer) -> tuple[str, ...]:
    """Their names. Alertmanager puts <secret> where one is."""
    said = yaml_mapping(loads(answer.out)["config"]["original"])
    return tuple(str(one["name"]) for one in said.get("receivers", ()))


LOADED = Probe(
    "alerting.loaded",
    instant('max by (rule_group) (prometheus_rule_group_rules{rule_group=~".+-gpustack-gpu-.+"})'),
    loaded,
)
RECEIVERS = Probe(
    "alerting.receivers",
    Api(
        "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-alertmanager:http-web/proxy/api/v2/status",
        ("config.original",),
    ),
    receivers,
)

"""What Prometheus and Alertmanager say of rules and receivers that they work with."""

from collections import Counter
from collections.abc import Mapping

from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.files.number import parse_number
from gpustack.probes.host.egress import Compared, check_word
from gpustack.probes.monitoring.workloads import instant, samples
from gpustack.probes.parsing import yaml_mapping


def read_rule_groups(answer: Answer) -> Mapping[str, int]:
    """Number of rules by group, of those in our PrometheusRules. Raises ValueError for what is no instant query.

    Prometheus calls a group FILE;NAME, and the operator calls the file NAMESPACE-NAME-UID.yaml.
    """
    found: Counter[str] = Counter()
    for sample in samples(answer):
        _, _, name = str(sample["metric"]["rule_group"]).rpartition(";")
        found[name] += int(parse_number(sample["value"][1], 0))
    return dict(found)


def receivers(answer: Answer) -> tuple[str, ...]:
    """Their names. Alertmanager puts <secret> where one is."""
    document = yaml_mapping(load_json(answer.out)["config"]["original"])
    return tuple(str(one["name"]) for one in document.get("receivers", ()))


def receivers_only(text: str) -> str:
    """Their names: who gets alerts, and by which server, is nobody else's."""
    document = yaml_mapping(load_json(text)["config"]["original"])
    names = [{"name": one["name"]} for one in document.get("receivers", ())]
    return dump_json({"config": {"original": dump_json({"receivers": names})}}, separators=(",", ":"))


def secrets(answer: Answer) -> Mapping[str, Compared]:
    """By name of the receiver: whether the cluster has what the file on our machine holds, or anything at all where the
    Secret is not ours. Empty where none is wanted or no cluster is there."""
    return {name: check_word(word) for name, word in (line.split(" ") for line in answer.out.splitlines())}


LOADED = Probe(
    "alerting.rule-groups",
    instant('max by (rule_group) (prometheus_rule_group_rules{rule_group=~".+-gpustack-gpu-.+"})'),
    read_rule_groups,
)
RECEIVERS = Probe(
    "alerting.receivers",
    Api(
        "/api/v1/namespaces/$MONITORING/services/http:$RELEASE-alertmanager:http-web/proxy/api/v2/status",
        ("config.original",),
    ),
    receivers,
    shorten=receivers_only,
)
# Secrets stay where they are: they are compared on the control plane, by a hash with a random salt.
SECRETS = Probe(
    "alerting.secret",
    Lines(r"""[ -n "${RECEIVERS-}" ] && [ -r /etc/kubernetes/admin.conf ] || exit 0
printf '%s' "$RECEIVERS" | while read -r name secret key wanted; do
  found=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" \
    -n "$MONITORING" get secret "$secret" --ignore-not-found \
    -o "go-template={{range \$name, \$value := .data}}{{if eq \$name \"$key\"}}{{\$value}}{{end}}{{end}}") || exit
  is=none
  if [ -n "$found" ]; then
    is=same
    if [ "$wanted" != - ]; then
      output=$({ printf '%s' "$SALT"; printf '%s' "$found" | base64 -d; } | sha256sum)
      [ "${output%% *}" = "$wanted" ] || is=other
    fi
  fi
  echo "$name $is"
done
"""),
    secrets,
    like="kubectl -n MONITORING get secret gpustack-receivers",
)

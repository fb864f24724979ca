"""Rules and receivers that Prometheus and Alertmanager work with, as they report them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Lines, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.host.egress import parse_comparisons
from gpustack.probes.monitoring.workloads import ALERTMANAGER, PROMETHEUS, load_data
from gpustack.probes.parsing import parse_optional_time, parse_yaml_mapping


@dataclass(frozen=True)
class RuleGroup:
    """Describe a group of rules that Prometheus evaluates: the `file` that it was read from, and the `rules` by the
    series that each records or the alert that it defines. `firing_alerts` are those of its alerts that fire, None where
    no rule has a state: it records series only, or an older recording has none. `errors` are pairs of a rule and
    Prometheus' error from its last evaluation."""

    file: str
    name: str
    rules: tuple[str, ...]
    firing_alerts: tuple[str, ...] | None = None
    errors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FiringAlert:
    """Describe an alert that fires: its name, its label severity, its own words, and since when its rule holds."""

    name: str
    severity: str
    words: str
    onset: datetime | None


def parse_rule_groups(answer: Answer) -> tuple[RuleGroup, ...]:
    """Parse the groups of rules. The Prometheus operator calls the file of an object NAMESPACE-NAME-UID.yaml.

    Raise ValueError where the answer is none of /api/v1/rules.
    """
    return tuple(
        RuleGroup(
            PurePath(group["file"]).name,
            group["name"],
            tuple(rule["name"] for rule in group["rules"]),
            find_firing_alerts(group["rules"]),
            tuple(find_rule_errors(group["rules"])),
        )
        for group in load_data(answer)["groups"]
    )


def parse_firing_alerts(answer: Answer) -> tuple[FiringAlert, ...]:
    """Parse the alerts that fire, each once. Raise ValueError where the answer is none of /api/v1/alerts."""
    alerts = (parse_firing_alert(alert) for alert in load_data(answer)["alerts"] if alert["state"] == "firing")
    return tuple(dict.fromkeys(alerts))


def parse_firing_alert(alert: Any) -> FiringAlert:
    labels, annotations = alert["labels"], alert.get("annotations", {})
    words = annotations.get("description") or annotations.get("summary") or annotations.get("message") or ""
    return FiringAlert(
        labels["alertname"],
        labels.get("severity", ""),
        shorten_message(" ".join(str(words).split())),
        parse_optional_time(alert.get("activeAt")),
    )


def find_rule_errors(rules: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    return ((rule["name"], shorten_message(rule["lastError"])) for rule in rules if rule.get("lastError"))


def find_firing_alerts(rules: Sequence[Mapping[str, str]]) -> tuple[str, ...] | None:
    alerts = [rule for rule in rules if "state" in rule]
    return tuple(rule["name"] for rule in alerts if rule["state"] == "firing") if alerts else None


def parse_receivers(answer: Answer) -> tuple[str, ...]:
    """Parse the names of the receivers. Alertmanager prints <secret> in place of a secret."""
    document = parse_yaml_mapping(load_json(answer.stdout)["config"]["original"])
    return tuple(str(receiver["name"]) for receiver in document.get("receivers", ()))


def prune_receivers(text: str) -> str:
    """Keep the names of receivers: recipients and servers of alerts are confidential."""
    document = parse_yaml_mapping(load_json(text)["config"]["original"])
    names = [{"name": receiver["name"]} for receiver in document.get("receivers", ())]
    return dump_json({"config": {"original": dump_json({"receivers": names})}}, separators=(",", ":"))


RULE_GROUPS = Probe(
    "alerting.rules",
    Api(
        f"{PROMETHEUS}/api/v1/rules?exclude_alerts=true",
        (
            "status", "data.groups.file", "data.groups.name", "data.groups.rules.name", "data.groups.rules.state",
            "data.groups.rules.lastError",
        ),
    ),
    parse_rule_groups,
)  # fmt: skip
FIRING_ALERTS = Probe(
    "alerting.firing",
    Api(
        f"{PROMETHEUS}/api/v1/alerts",
        (
            "status", "data.alerts.state", "data.alerts.activeAt", "data.alerts.labels.alertname",
            "data.alerts.labels.severity", "data.alerts.annotations.summary", "data.alerts.annotations.description",
            "data.alerts.annotations.message",
        ),
    ),
    parse_firing_alerts,
)  # fmt: skip
RECEIVERS = Probe(
    "alerting.receivers",
    Api(
        f"{ALERTMANAGER}/api/v2/status",
        ("config.original",),
    ),
    parse_receivers,
    pruner=prune_receivers,
)
# Secrets stay where they are: they are compared on the control plane, by a hash with a random salt.
SECRETS = Probe(
    "alerting.secret",
    Lines(r"""[ -n "${RECEIVERS-}" ] && [ -r /etc/kubernetes/admin.conf ] || exit 0
printf '%s' "$RECEIVERS" | while read -r name secret key expected_sum; do
  text=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout="$((4 * ${TIMEOUT_FACTOR:-1}))s" \
    -n "$MONITORING" get secret "$secret" --ignore-not-found \
    -o "go-template={{range \$name, \$value := .data}}{{if eq \$name \"$key\"}}{{\$value}}{{end}}{{end}}") || exit
  is=none
  if [ -n "$text" ]; then
    is=same
    if [ "$expected_sum" != - ]; then
      output=$({ printf '%s' "$SALT"; printf '%s' "$text" | base64 -d; } | sha256sum)
      [ "${output%% *}" = "$expected_sum" ] || is=other
    fi
  fi
  echo "$name $is"
done
"""),
    parse_comparisons,
    manual_command="kubectl -n MONITORING get secret gpustack-receivers",
)

"""Who receives which alerts: Alertmanager's configuration, in the keys of its version in the chart, 0.34.0
(docs/configuration.md of github.com/prometheus/alertmanager; structs in config/ and notify/*/config.go). It reads each
secret as a file, from a Secret.

Every receiver of the spec is one of Alertmanager's, so that its counters tell one from the other, with the feature
receiver-name-in-metrics (notify/metrics.go).
"""

from collections.abc import Callable
from typing import Any

from gpustack.config.sections.receiver import DEFAULT, SEVERITIES, Receiver, Receivers, place_of
from gpustack.config.spec import Spec

NOBODY = "null"
COUNTED = "receiver-name-in-metrics"
# The alert of `gpustack alerts test`. Each is a group of its own, sent at once; Alertmanager gives a failing receiver
# up after group_interval, at least ten seconds, and only then says so.
TEST, TEST_LABEL = "GpustackTest", "test"
MOUNTED = "/etc/alertmanager/secrets"
# What always fires to show that alerts can, and the chart's means to hold info alerts back: whoever wants them routes
# them in values.
NO_ALERTS = 'alertname =~ "Watchdog|InfoInhibitor"'


def alertmanager(spec: Spec) -> dict[str, Any]:
    """What follows from the spec below the chart's key `alertmanager`."""
    receivers = spec.alerts.receivers
    named = receivers.named()
    if not named:
        return {}
    config = configured(receivers, mounted)
    secrets = {place[0] for name, one in named.items() if (place := place_of(name, one))}
    return {"config": config, "enableFeatures": [COUNTED], "alertmanagerSpec": {"secrets": sorted(secrets)}}


def alertmanager_configuration(spec: Spec, folder: str) -> dict[str, Any]:
    """The whole configuration of one outside of a cluster, with each secret in a file of the folder, by its receiver's
    name."""
    return configured(spec.alerts.receivers, lambda name, one: f"{folder}/{name}" if one.secret_file else "")


def configured(receivers: Receivers, file_of: Callable[[str, Receiver], str]) -> dict[str, Any]:
    ways = ({"name": name, **way(one, file_of(name, one))} for name, one in receivers.named().items())
    return {
        "route": route(receivers),
        "receivers": [{"name": NOBODY}, *ways],
        "inhibit_rules": inhibitions(),
    }


def route(receivers: Receivers) -> dict[str, Any]:
    by_severity = routes(receivers)
    return {
        "receiver": NOBODY,
        "group_by": ["alertname", "node", "UUID"],
        "group_wait": "10s",
        "group_interval": "5m",
        "repeat_interval": "12h",
        "routes": [
            {"matchers": [NO_ALERTS], "receiver": NOBODY},
            {
                "matchers": [f'alertname = "{TEST}"'],
                "receiver": NOBODY,
                "group_by": ["alertname", TEST_LABEL],
                "group_wait": "1s",
                "group_interval": "10s",
                "routes": by_severity,
            },
            *by_severity,
        ],
    }


def routes(receivers: Receivers) -> list[dict[str, Any]]:
    """By severity, and last what has another one or none: it goes to `default`, else where warnings go."""
    found = []
    for severity in SEVERITIES:
        found += to_all([f'severity = "{severity}"'], receivers.names(severity))
    rest = receivers.names("warning" if receivers.default is None else DEFAULT)
    return [*found, *to_all([], rest)]


def to_all(matchers: list[str], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """One route for each; all but the last let the next ones look, too."""
    match = {"matchers": matchers} if matchers else {}
    last = names[-1] if names else NOBODY
    return [*({**match, "receiver": name, "continue": True} for name in names[:-1]), {**match, "receiver": last}]


def inhibitions() -> list[dict[str, Any]]:
    """A critical alert silences warning and info: of the same GPU, of its node if it is about the node itself, and of
    the same name. A label that neither alert has counts as equal (inhibit/inhibit.go), so both have to have it. The
    rule about names is the chart's, and narrower: there, one host silences the others. The chart's rule that holds back
    info without a warning beside it is left out: the spec says who gets info."""
    critical, lower = 'severity = "critical"', 'severity =~ "warning|info"'
    same = ["alertname", "namespace", "node", "instance", "UUID"]
    return [
        {
            "source_matchers": [critical, 'UUID != ""'],
            "target_matchers": [lower, 'UUID != ""'],
            "equal": ["node", "UUID"],
        },
        {
            "source_matchers": [critical, 'node != ""', 'UUID = ""'],
            "target_matchers": [lower, 'node != ""'],
            "equal": ["node"],
        },
        {"source_matchers": [critical], "target_matchers": [lower], "equal": same},
        {"source_matchers": ['severity = "warning"'], "target_matchers": ['severity = "info"'], "equal": same},
    ]


def mounted(name: str, target: Receiver) -> str:
    """Where its secret is in Alertmanager's pod; empty where it has none."""
    place = place_of(name, target)
    return "/".join((MOUNTED, *place)) if place else ""


def way(target: Receiver, file: str) -> dict[str, Any]:
    """Of one receiver, by its type; `file` holds its secret."""
    if target.type == "webhook":
        return {"webhook_configs": [{"url_file": file, "send_resolved": True}]}
    if target.type == "slack":
        return {"slack_configs": [{"api_url_file": file, "channel": target.channel, "send_resolved": True}]}
    if target.type == "pagerduty":
        return {"pagerduty_configs": [{"routing_key_file": file, "send_resolved": True}]}
    login = {"auth_username": target.user, "auth_password_file": file} if target.user else {}
    mail = {"to": target.to, "from": target.sender, "smarthost": target.smarthost, "send_resolved": True}
    return {"email_configs": [mail | login]}

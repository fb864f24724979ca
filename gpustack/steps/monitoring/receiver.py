"""The configuration of Alertmanager: who receives which alerts, in the keys of its version in the chart, 0.34.0
(docs/configuration.md of github.com/prometheus/alertmanager; structs in config/ and notify/*/config.go). Alertmanager
reads each secret as a file, from a Secret.

Every receiver of the spec is one of Alertmanager's, so that its counters distinguish them, with the feature
receiver-name-in-metrics (notify/metrics.go).
"""

from collections.abc import Callable, Mapping
from typing import Any

from gpustack.ask.egress import LOGIN, list_proxy_variables
from gpustack.ask.pod_egress import Consumer, list_authorities, list_consumers
from gpustack.config.inventory import Inventory
from gpustack.config.sections.receiver import DEFAULT, NULL_RECEIVER, SEVERITIES, Receiver, Receivers, locate_secret
from gpustack.config.spec import Spec
from gpustack.steps.chart_values import merge_values
from gpustack.steps.monitoring.notification import FILE, MESSAGES, read_templates
from gpustack.vocabulary.care_jobs import PREFIX

RECEIVER_METRICS = "receiver-name-in-metrics"
# The alert of `gpustack alerts test`. Each is a group of its own, sent at once; Alertmanager gives a failing receiver
# up after group_interval, at least ten seconds, and only then says so.
TEST, TEST_LABEL = "GpustackTest", "test"
SECRETS_FOLDER = "/etc/alertmanager/secrets"
FROM_ENVIRONMENT = {"proxy_from_environment": True}
AUTHORITIES_FOLDER = "/etc/alertmanager/configmaps"
# What always fires to show that alerts can, and the chart's means to hold info alerts back: whoever wants them routes
# them in values.
NO_ALERTS = 'alertname =~ "Watchdog|InfoInhibitor"'
# The chart's own alert of a Job that failed, also one that found no idle GPU: GpuCareFailed and its like say it better.
CARE_JOBS = ['alertname = "KubeJobFailed"', f'job_name =~ "{PREFIX}.+"']
OF_A_WHOLE_NODE = 'alertname !~ "GpuAllocatableBelowCapacity|GpuFewerThanCapacity"'  # are about some GPUs, for days


def build_alertmanager_values(inventory: Inventory) -> dict[str, Any]:
    """Build what follows from the spec below the chart's key `alertmanager`."""
    spec = inventory.spec
    receivers = spec.alerts.receivers
    named_receivers = receivers.name_receivers()
    egress = build_alertmanager_egress(inventory)
    if not named_receivers:
        return egress
    config = build_configuration(spec, format_secret_path)
    secrets = {place[0] for name, receiver in named_receivers.items() if (place := locate_secret(name, receiver))}
    values = {
        # The chart puts these files where its own `templates` of the configuration finds them.
        "config": config,
        "templateFiles": {FILE: read_templates()},
        "enableFeatures": [RECEIVER_METRICS],
        "alertmanagerSpec": {"secrets": sorted(secrets)},
    }
    return merge_values(values, egress)


def build_alertmanager_egress(inventory: Inventory) -> dict[str, Any]:
    """Build how Alertmanager leaves the cluster: the proxy for all receivers that speak HTTP, the operator's own as
    well, and the CAs. Alertmanager takes no proxy from its environment unasked (prometheus/common
    config/http_config.go, ProxyFromEnvironment)."""
    consumer = list_consumers(inventory.spec)["monitoring"]
    env = build_pod_environment(inventory, consumer)
    config = {"global": {"http_config": FROM_ENVIRONMENT}}
    spec = {
        **({"configMaps": [consumer.authority_name]} if list_authorities(inventory.spec) else {}),
        "containers": [{"name": "alertmanager", "env": env}],
    }
    return {**({"config": config} if inventory.spec.proxy else {}), **({"alertmanagerSpec": spec} if env else {})}


def build_pod_environment(inventory: Inventory, consumer: Consumer) -> list[dict[str, Any]]:
    """Build the variables of Alertmanager's container: the proxy, with its login from a Secret, and where CAs are
    besides those of its image. Go reads all directories of SSL_CERT_DIR besides the file of the system
    (crypto/x509/root_unix.go, loadSystemRoots)."""
    env: list[dict[str, Any]] = []
    for name, value in list_proxy_variables(inventory).items():
        reference = {"secretKeyRef": {"name": consumer.login_name, "key": name}}
        env.append({"name": name, "valueFrom": reference} if LOGIN in value else {"name": name, "value": value})
    if list_authorities(inventory.spec):
        folders = f"/etc/ssl/certs:{AUTHORITIES_FOLDER}/{consumer.authority_name}"
        env.append({"name": "SSL_CERT_DIR", "value": folders})
    return env


def build_alertmanager_configuration(
    spec: Spec, folder: str, http_config: Mapping[str, Any], templates: str
) -> dict[str, Any]:
    """Build the whole configuration of an Alertmanager outside of a cluster, with each secret in a file of the folder,
    by its receiver's name. `templates` is the path of those of notifications."""
    config = build_configuration(spec, lambda name, receiver: f"{folder}/{name}" if receiver.secret_file else "")
    http = {"global": {"http_config": dict(http_config)}} if http_config else {}
    return {**http, **config, "templates": [templates]}


def build_configuration(spec: Spec, format_path: Callable[[str, Receiver], str]) -> dict[str, Any]:
    receiver_configs = (
        {"name": name, **build_receiver(receiver, format_path(name, receiver))}
        for name, receiver in spec.alerts.receivers.name_receivers().items()
    )
    return {
        "route": build_route(spec),
        "receivers": [{"name": NULL_RECEIVER}, *receiver_configs],
        "inhibit_rules": build_inhibit_rules(),
    }


def build_route(spec: Spec) -> dict[str, Any]:
    by_severity = build_severity_routes(spec.alerts.receivers)
    held_back = [[NO_ALERTS], *([CARE_JOBS] if spec.care.enabled else [])]
    return {
        "receiver": NULL_RECEIVER,
        "group_by": list(spec.alerts.group_by),
        "group_wait": "10s",
        "group_interval": "5m",
        "repeat_interval": "12h",
        "routes": [
            *({"matchers": matchers, "receiver": NULL_RECEIVER} for matchers in held_back),
            {
                "matchers": [f'alertname = "{TEST}"'],
                "receiver": NULL_RECEIVER,
                "group_by": ["alertname", TEST_LABEL],
                "group_wait": "1s",
                "group_interval": "10s",
                "routes": by_severity,
            },
            *by_severity,
        ],
    }


def build_severity_routes(receivers: Receivers) -> list[dict[str, Any]]:
    """Build the routes by severity. The last one is for another severity or none: it goes to `default`, else where
    warnings go."""
    severity_routes = []
    for severity in SEVERITIES:
        severity_routes += build_receiver_routes([f'severity = "{severity}"'], receivers.list_names(severity))
    remaining_names = receivers.list_names("warning" if receivers.default is None else DEFAULT)
    return [*severity_routes, *build_receiver_routes([], remaining_names)]


def build_receiver_routes(matchers: list[str], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Build one route for each receiver; all but the last let the next ones match, too."""
    match = {"matchers": matchers} if matchers else {}
    last_name = names[-1] if names else NULL_RECEIVER
    return [*({**match, "receiver": name, "continue": True} for name in names[:-1]), {**match, "receiver": last_name}]


def build_inhibit_rules() -> list[dict[str, Any]]:
    """Build the rules by which a critical alert silences warning and info: of the same GPU, of its node if it is about
    the whole node, and of the same name. Xids of one GPU are one incident, so that of a fault silences a program's. A
    label that neither alert has counts as equal (inhibit/inhibit.go), so both have to have it. The rule about names is
    the chart's, and narrower: there, one host silences the others. The chart's rule that holds back info without a
    warning beside it is left out: the spec says who gets info."""
    critical_matcher, lower_matcher = 'severity = "critical"', 'severity =~ "warning|info"'
    equal_labels = ["alertname", "namespace", "node", "instance", "UUID"]
    return [
        {
            "source_matchers": [critical_matcher, 'UUID != ""'],
            "target_matchers": [lower_matcher, 'UUID != ""'],
            "equal": ["node", "UUID"],
        },
        {
            "source_matchers": [critical_matcher, 'node != ""', 'UUID = ""', OF_A_WHOLE_NODE],
            "target_matchers": [lower_matcher, 'node != ""'],
            "equal": ["node"],
        },
        {
            "source_matchers": ['alertname = "GpuXidWarning"'],
            "target_matchers": ['alertname = "GpuXidApplication"'],
            "equal": ["node", "UUID"],
        },
        {"source_matchers": [critical_matcher], "target_matchers": [lower_matcher], "equal": equal_labels},
        {"source_matchers": ['severity = "warning"'], "target_matchers": ['severity = "info"'], "equal": equal_labels},
    ]


def format_secret_path(name: str, target: Receiver) -> str:
    """Format the path of a receiver's secret in Alertmanager's pod; empty where it has none."""
    place = locate_secret(name, target)
    return "/".join((SECRETS_FOLDER, *place)) if place else ""


def build_receiver(target: Receiver, file: str) -> dict[str, Any]:
    """Build the configuration of one receiver, by its type; `file` holds its secret."""
    common_fields = {"send_resolved": True, **MESSAGES.get(target.type or "", {})}
    if target.type == "webhook":
        return {"webhook_configs": [{"url_file": file, **common_fields}]}
    if target.type == "slack":
        return {"slack_configs": [{"api_url_file": file, "channel": target.channel, **common_fields}]}
    if target.type == "msteams":
        return {"msteamsv2_configs": [{"webhook_url_file": file, **common_fields}]}
    if target.type == "pagerduty":
        return {"pagerduty_configs": [{"routing_key_file": file, **common_fields}]}
    login = {"auth_username": target.user, "auth_password_file": file} if target.user else {}
    mail = {"to": target.to, "from": target.sender, "smarthost": target.smarthost, **common_fields}
    return {"email_configs": [mail | login]}

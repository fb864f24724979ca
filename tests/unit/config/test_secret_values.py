"""A secret in clear among Helm values is refused, all at once; what only names one is not."""

from pathlib import Path

import pytest
import yaml

from gpustack.config.secrets.secret_values import find_secret_paths
from gpustack.config.values import read_operator_values

REAL = Path(__file__).parents[4] / "shared" / "data" / "charts"
OWN_VALUES = Path(__file__).parents[3] / "values"
CLEAR = """
grafana:
  adminPassword: figleaf
  grafana.ini: {auth.generic_oauth: {client_secret: figleaf}}
  envRenderSecret: {ANY_NAME: figleaf}
  env: [{name: DB_PASSWORD, value: figleaf}]
  datasources: {d.yaml: {datasources: [{secureJsonData: {httpHeaderValue1: figleaf}}]}}
prometheus:
  prometheusSpec:
    remoteWrite: [{url: "https://kube:fig@leaf@example.com/w", headers: {Authorization: Bearer figleaf}}]
    additionalScrapeConfigs: [{basic_auth: {password: 12345678}, authorization: {credentials: figleaf}}]
alertmanager:
  config:
    global: {slack_api_url: "https://hooks.slack.com/services/T0/B0/f1gl3aff1gl3af", smtp_auth_password: figleaf}
    receivers: [{name: p, pagerduty_configs: [{routing_key: figleaf}]}]
  stringConfig: |
    receivers:
      - opsgenie_configs: [{api_key: figleaf}]
"""
# Whatever its key is called, or in a text of another program.
LOOKS = (
    "{url: 'https://x.example.com/send?token=f1gl3af0'}",
    "{url: 'https://chat.example.com/hooks/f1gl3aff1gl3aff1gl3af'}",
    "{args: ['--web.password=figleaf']}",
    '{cert: "-----BEGIN RSA PRIVATE KEY-----\\nMIIfigleaf\\n"}',
    "{cert: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t}",
    "{extra: glpat-invented0invented0xx}",
    "{config: \"[[servers]]\\nhost = 'ldap'\\nbind_password = 'figleaf'\\n\"}",
    "{objects: [{kind: Secret, data: {any: ZmlnbGVhZg==}}]}",
    "{env: [{name: DB_PASS, value: figleaf}]}",
    "{bindpw: figleaf}",
)
NAMED_SECRETS = """
grafana:
  admin: {existingSecret: grafana, userKey: admin-user, passwordKey: admin-password}
  envFromSecret: grafana-env
  envValueFrom: {DB_PASSWORD: {secretKeyRef: {name: db, key: password}}}
  smtp: {existingSecret: smtp, userKey: user, passwordKey: password}
  adminPassword: ""
  grafana.ini: {database: {password: "$__file{/etc/secrets/db}", token: "$__env{TOKEN}"}}
  serviceAccount: {automountServiceAccountToken: "true"}
prometheus:
  prometheusSpec:
    remoteWrite:
      - url: http://10.0.0.5:9090/api/v1/write
        basicAuth: {username: {name: rw, key: user}, password: {name: rw, key: password}}
        authorization: {type: Bearer, credentials: {name: rw, key: token}}
    tokenAudience: api
    podAntiAffinityTopologyKey: kubernetes.io/hostname
    additionalScrapeConfigs: [{bearer_token_file: /etc/token, basic_auth: {password_file: /etc/password}}]
    objectStorageConfig: {secret: {type: S3, config: {bucket: thanos, endpoint: s3.example.com}}}
  extraArgs: ["--token-auth-file=/x", "--password=$(PASSWORD)", "--token=${TOKEN}"]
  script: |
    token=$(cat /var/run/token)
    bypass = 1
  ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t
  bypass: everything
alertmanager:
  alertmanagerSpec: {configSecret: receivers, secrets: [a, b]}
  config: {global: {opsgenie_api_url: "https://api.opsgenie.com/v2/", slack_api_url_file: /etc/slack}}
  ingress: {tls: [{secretName: tls}]}
imagePullSecrets: [{name: ngc}]
"""


def list_places(text: str) -> list[str]:
    return [".".join(path) for path in find_secret_paths(yaml.safe_load(text))]


def test_every_secret_in_clear_is_named_and_none_is_printed() -> None:
    assert list_places(CLEAR) == [
        "grafana.adminPassword",
        "grafana.grafana.ini.auth.generic_oauth.client_secret",
        "grafana.envRenderSecret.ANY_NAME",
        "grafana.env.0.value",
        "grafana.datasources.d.yaml.datasources.0.secureJsonData.httpHeaderValue1",
        "prometheus.prometheusSpec.remoteWrite.0.url",
        "prometheus.prometheusSpec.remoteWrite.0.headers.Authorization",
        "prometheus.prometheusSpec.additionalScrapeConfigs.0.basic_auth.password",
        "prometheus.prometheusSpec.additionalScrapeConfigs.0.authorization.credentials",
        "alertmanager.config.global.slack_api_url",
        "alertmanager.config.global.smtp_auth_password",
        "alertmanager.config.receivers.0.pagerduty_configs.0.routing_key",
        "alertmanager.stringConfig",
    ]


@pytest.mark.parametrize("text", LOOKS)
def test_a_secret_is_known_by_its_looks(text: str) -> None:
    assert len(list_places(text)) == 1


def test_what_only_names_a_secret_is_taken() -> None:
    assert list_places(NAMED_SECRETS) == []


def test_a_file_of_values_is_refused_with_every_place(tmp_path: Path) -> None:
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "monitoring.yaml").write_text(CLEAR)
    _, wrong = read_operator_values(tmp_path / "hosts.yml", "monitoring", "kube-prometheus-stack-88.5.3")
    complaints = [complaint for complaint in wrong if complaint.reference == "values-secret"]
    assert len(complaints) == len(list_places(CLEAR))
    assert "figleaf" not in "\n".join(map(str, complaints))
    assert "monitoring.yaml: grafana.adminPassword: a secret in clear" in str(complaints[0])


@pytest.mark.parametrize(
    "path", sorted([*REAL.glob("*/values.yaml"), *OWN_VALUES.rglob("*.yaml")]), ids=lambda path: path.parent.name
)
def test_no_default_of_a_real_chart_and_none_of_ours_is_refused(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        assert list(find_secret_paths(document)) == []

"""Templates of notifications, in values/alertmanager, and the settings of each kind of receiver that use them.

A webhook gets the JSON of Alertmanager, which has every label and annotation and cannot be templated. Keys are those of
docs/configuration.md of github.com/prometheus/alertmanager.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpustack.config.resources import locate_shipped_values

FILE = "gpustack.tmpl"
TITLE, TEXT = '{{ template "gpustack.title" . }}', '{{ template "gpustack.text" . }}'
MESSAGES: Mapping[str, Mapping[str, Any]] = {
    "slack": {"title": TITLE, "fallback": TITLE, "text": '{{ template "gpustack.slack" . }}'},
    "msteams": {"title": TITLE, "text": '{{ template "gpustack.msteams" . }}'},
    "pagerduty": {
        "description": TITLE,
        "severity": '{{ template "gpustack.pagerduty.severity" . }}',
        "source": '{{ or .CommonLabels.node .CommonLabels.cluster "Alertmanager" }}',
        "component": "{{ .CommonLabels.UUID }}",
        "class": "{{ .CommonLabels.alertname }}",
        "group": "{{ .CommonLabels.cluster }}",
        # In place of the JSON that Alertmanager has there (DefaultPagerdutyDetails in its config/notifiers.go).
        "details": {
            "firing": '{{ template "gpustack.text.firing" . }}',
            "resolved": '{{ template "gpustack.text.resolved" . }}',
        },
    },
    "email": {
        "headers": {"Subject": TITLE},
        "text": TEXT,
        "html": '{{ template "gpustack.email.html" . }}',
    },
}


@cache
def read_templates() -> str:
    """Read the templates of all kinds of receivers, in one file of Alertmanager."""
    return (locate_shipped_values() / "alertmanager" / FILE).read_text(encoding="utf-8")

"""The texts that receivers get of an alert.

Alertmanager has no API that renders a notification, and keeps none that it sent. So its own amtool renders them in
its pod, with the receivers that it runs with and the templates that it reads, for the test alert alone in its group.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gpustack.ask.probe import UNREADABLE, Probe, Shell
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.files.json_text import dump_json
from gpustack.proof.alertmanager import ENDING, Alertmanager
from gpustack.proof.credential import explain_failure, fetch_answers
from gpustack.proof.http import NoAnswer

RENDER = """
set -f
ask() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=15s -n "$NAMESPACE" "$@"; }
pod=$(ask get pods -l app.kubernetes.io/name=alertmanager -o name | head -n 1) || exit
[ -n "$pod" ] || { echo "no pod of Alertmanager in the namespace $NAMESPACE" >&2; exit 1; }
printf '%s' "$DATA" | base64 -d | ask exec -i "$pod" -c alertmanager -- \
  amtool template render $GLOBS --template.data=/dev/stdin --template.text="$TEXT"
"""
LIMIT = 25
MESSAGE: Probe[str] = Probe("alertmanager.message", Shell(RENDER), lambda answer: answer.stdout, limit=LIMIT)
SETTINGS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "slack": (("title",), ("text",)),
    "msteamsv2": (("title",), ("text",)),
    "pagerduty": (("description",), ("details", "firing")),
    "email": (("headers", "Subject"), ("text",)),
}
"""People read these settings of an integration. They have the keys of Alertmanager's configuration."""
NO_FILE = "/etc/alertmanager/config/none"
"""A pattern of no file: amtool asks for one, and has Alertmanager's own templates besides."""
WEBHOOK = "a webhook gets Alertmanager's JSON, with labels and annotations"


@dataclass(frozen=True)
class Message:
    """Hold the text that a receiver gets, or the reason why it is not known."""

    text: str = ""
    reason: str = ""


class Amtool(Protocol):
    def render_template(self, template: str, globs: Sequence[str], notification: Mapping[str, Any]) -> str:
        """Render a template with the files of the globs. Raise NoAnswer."""


@dataclass(frozen=True)
class PodAmtool:
    """Run amtool in the pod of Alertmanager, through a control plane."""

    host: Host
    namespace: str

    def render_template(self, template: str, globs: Sequence[str], notification: Mapping[str, Any]) -> str:
        variables = {
            "NAMESPACE": self.namespace,
            "TEXT": template,
            "GLOBS": " ".join(f"--template.glob={pattern}" for pattern in globs),
            "DATA": b64encode(dump_json(notification).encode()).decode(),
        }
        try:
            answer = fetch_answers(self.host, [MESSAGE], variables)[MESSAGE.id]
        except HostRefused as refusal:
            raise NoAnswer(refusal.reach.reason) from refusal
        if reason := explain_failure(answer):
            raise NoAnswer(f"amtool in Alertmanager's pod rendered no text: {reason}")
        return answer.stdout


def render_messages(
    alertmanager: Alertmanager, amtool: Amtool, notification: Mapping[str, Any]
) -> dict[tuple[str, str], Message]:
    """Render what each integration of each receiver gets, by both names. Several of one kind in a receiver have the
    text of the first."""
    try:
        configuration = alertmanager.fetch_configuration()
        globs = [str(pattern) for pattern in configuration.get("templates") or ()]
        templates = dict(reversed([*list_templates(configuration)]))
    except NoAnswer as error:
        return {("", ""): Message(reason=str(error))}
    except UNREADABLE:
        return {("", ""): Message(reason="Alertmanager answered its configuration in another shape")}
    texts: dict[str, Message] = {}
    for template in set(templates.values()) - {""}:
        try:
            texts[template] = Message(amtool.render_template(template, globs or [NO_FILE], notification).strip())
        except NoAnswer as error:
            texts[template] = Message(reason=str(error))
    default_messages = {"webhook": Message(reason=WEBHOOK)}
    unset = Message(reason="the receiver has Alertmanager's own texts, which were not rendered")
    return {key: texts.get(template) or default_messages.get(key[1], unset) for key, template in templates.items()}


def list_templates(configuration: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield receiver and integration, and the template of all that people read of it, or an empty text."""
    for receiver in configuration.get("receivers", ()):
        for key, configs in receiver.items():
            for config in (configs or ()) if key.endswith(ENDING) else ():
                integration = key.removesuffix(ENDING)
                parts = (find_setting(config, path) for path in SETTINGS.get(integration, ()))
                yield (str(receiver["name"]), integration), "\n".join(filter(None, parts))


def find_setting(config: Mapping[str, Any], path: tuple[str, ...]) -> str:
    value: Any = config
    for key in path:
        value = value.get(key, "") if isinstance(value, Mapping) else ""
    return str(value)


def build_notification(
    labels: Mapping[str, str], annotations: Mapping[str, str], began: datetime, group_by: Sequence[str]
) -> dict[str, Any]:
    """Build the data of templates for a group of one alert that fires (template.Data of Alertmanager's Go package)."""
    alert = {
        "status": "firing",
        "labels": dict(labels),
        "annotations": dict(annotations),
        "startsAt": began.isoformat(),
        "endsAt": "0001-01-01T00:00:00Z",
    }
    return {
        "status": "firing",
        "alerts": [alert],
        "groupLabels": {name: labels[name] for name in group_by if name in labels},
        "commonLabels": dict(labels),
        "commonAnnotations": dict(annotations),
    }

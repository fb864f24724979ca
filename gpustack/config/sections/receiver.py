"""Receivers of alerts, by severity.

The secret part of an address is a file on this machine, mode 0600, or a key of a Secret that is in the cluster already:
never a value of the spec.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpustack.config.addresses import validate_port
from gpustack.config.complaint import Complaint
from gpustack.config.form import Form
from gpustack.config.secrets.secret_file import INTEGRATION, PASSWORD, URL, Kind, judge_secret_file, read_secret
from gpustack.config.sections.section import Section

KEY = "alerts.receivers"
SEVERITIES = ("critical", "warning", "info")
# Nobody may have meant that these go to nobody: they have a receiver, or say that they have none.
REQUIRED_SEVERITIES = ("critical", "warning")
DEFAULT = "default"
NULL_RECEIVER = "null"
"""The receiver of Alertmanager that tells nobody."""
RECEIVERS_NAME = "gpustack-receivers"
"""The Secret that gpustack writes, with the content of the files of all receivers, each under its name."""


SecretKey = Annotated[
    str,
    Form(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9._-]+", "NAME/KEY of a Secret of the cluster", "alerts/webhook"),
]
MailServer = Annotated[
    str,
    Form(r"([A-Za-z0-9.-]+:[0-9]{1,5})?", "a mail server as name:port", "mail.example.com:587"),
    AfterValidator(validate_port),
]


class Receiver(Section):
    type: Annotated[
        Literal["webhook", "slack", "msteams", "pagerduty", "email"] | None,
        Field(description="kind of receiver: webhook, slack, msteams, pagerduty or email"),
    ] = None
    secret_file: Annotated[
        str | None,
        Field(
            description="a file on this machine, mode 0600, with the URL of the webhook, Slack or Teams, PagerDuty's "
            "key, or the mail server's password"
        ),
    ] = None
    secret: Annotated[
        SecretKey | None,
        Field(description="NAME/KEY of a Secret in the namespace of the monitoring, instead of secret_file"),
    ] = None
    channel: Annotated[str, Field(description="channel of slack")] = ""
    to: Annotated[str, Field(description="recipient of email")] = ""
    sender: Annotated[str, Field(description="sender of email")] = ""
    smarthost: Annotated[MailServer, Field(description="mail server as name:port")] = ""
    user: Annotated[str, Field(description="login at the mail server; default: none")] = ""


ReceiverList = tuple[Receiver, ...] | None


class Receivers(Section):
    """Hold the receivers of each severity. None is unset, so those of `default` count; an empty list is nobody."""

    default: Annotated[
        ReceiverList,
        Field(
            description="receivers of each severity without a list of its own, as [{type: webhook, secret_file: FILE}] "
            "with a file on this machine, mode 0600"
        ),
    ] = None
    critical: Annotated[
        ReceiverList,
        Field(description="receivers of critical alerts, as [{type: pagerduty, secret_file: FILE}]; [] is nobody"),
    ] = None
    warning: Annotated[
        ReceiverList,
        Field(description="receivers of warnings, as [{type: slack, channel: '#gpus', secret_file: FILE}]"),
    ] = None
    info: Annotated[
        ReceiverList,
        Field(
            description="receivers of info alerts, as [{type: email, to: …, sender: …, smarthost: "
            "'mail.example.com:587'}]"
        ),
    ] = None

    def select_receivers(self, severity: str) -> tuple[str, tuple[Receiver, ...]]:
        """Select the list that counts for a severity. Return its key and its receivers."""
        own_receivers: ReceiverList = getattr(self, severity)
        return (DEFAULT, self.default or ()) if own_receivers is None else (severity, own_receivers)

    def name_receivers(self) -> dict[str, Receiver]:
        """Return all receivers by the name that Alertmanager, the Secret and reports have for them: critical-slack, and
        critical-slack-2 for the second of that type."""
        named_receivers: dict[str, Receiver] = {}
        for key in (*SEVERITIES, DEFAULT):
            named_receivers |= {
                f"{key}-{name}": receiver for name, receiver in number_receivers(getattr(self, key) or ())
            }
        return named_receivers

    def list_names(self, severity: str) -> tuple[str, ...]:
        """List the names of the receivers of a severity."""
        key, receivers = self.select_receivers(severity)
        return tuple(f"{key}-{name}" for name, _ in number_receivers(receivers))


def number_receivers(receivers: tuple[Receiver, ...]) -> Iterator[tuple[str, Receiver]]:
    count: Counter[str] = Counter()
    for receiver in receivers:
        kind = receiver.type or ""
        count[kind] += 1
        yield (kind if count[kind] == 1 else f"{kind}-{count[kind]}"), receiver


# Settings that a type needs, and those that it may have; none of the others has an effect.
REQUIRED_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "webhook": ("secret_file",),
    "slack": ("secret_file", "channel"),
    "msteams": ("secret_file",),
    "pagerduty": ("secret_file",),
    "email": ("to", "sender", "smarthost"),
}
WORDS = {
    "secret_file": "the path of a file with the secret, as ~/alerts-secret, or secret: NAME/KEY",
    "channel": "a channel, as #gpus",
    "to": "an address, as ops@example.com",
    "sender": "an address, as gpustack@example.com",
    "smarthost": "a mail server, as mail.example.com:587",
}
KINDS = {"webhook": URL, "slack": URL, "msteams": URL, "pagerduty": INTEGRATION}
SETTINGS = ("secret_file", "channel", "to", "sender", "smarthost", "user")


def select_kind(receiver: Receiver) -> Kind:
    """Select what the file of a receiver has to hold."""
    return KINDS.get(receiver.type or "", PASSWORD)


def locate_secret(name: str, receiver: Receiver) -> tuple[str, str] | None:
    """Return the Secret and the key in the cluster that Alertmanager reads, or None where it needs none."""
    if receiver.secret:
        secret_name, _, key = receiver.secret.partition("/")
        return secret_name, key
    return (RECEIVERS_NAME, name) if receiver.secret_file else None


def read_secrets(receivers: Receivers) -> dict[str, str]:
    """Read the contents of the receivers' files, by name. Raise ConfigError when one cannot be used."""
    files = {name: receiver for name, receiver in receivers.name_receivers().items() if receiver.secret_file}
    return {
        name: read_secret(file_receiver.secret_file, select_kind(file_receiver))
        for name, file_receiver in files.items()
        if file_receiver.secret_file
    }


def judge_receivers(file: str, receivers: Receivers, inventory: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """Yield the keys that a complaint is about, and the complaint. `inventory` is the folder that Ansible reads as a
    whole."""
    if any(getattr(receivers, key) for key in (*SEVERITIES, DEFAULT)) and receivers.default is None:
        for severity in REQUIRED_SEVERITIES:
            if getattr(receivers, severity) is None:
                rule = f"a list of receivers here or in {KEY}.{DEFAULT}; [] for nobody"
                yield build_complaint(file, f"{KEY}.{severity}", "", "nothing, while others have a receiver", rule)
    for key in (*SEVERITIES, DEFAULT):
        for index, receiver in enumerate(getattr(receivers, key) or ()):
            yield from judge_receiver(file, f"{KEY}.{key}.{index}", receiver, inventory)


def judge_receiver(
    file: str, place: str, receiver: Receiver, inventory: Path | None
) -> Iterator[tuple[set[str], Complaint]]:
    if receiver.type is None:
        yield build_complaint(file, place, "type", "nothing", " or ".join(REQUIRED_SETTINGS))
        return
    present_keys = {name for name in SETTINGS if getattr(receiver, name)} | (
        {"secret_file"} if receiver.secret else set()
    )
    optional_settings = {"user", "secret_file"} if receiver.type == "email" else set()
    for name in REQUIRED_SETTINGS[receiver.type]:
        if name not in present_keys:
            yield build_complaint(file, place, name, f"nothing, with type {receiver.type}", WORDS[name])
    for name in sorted(present_keys - {*REQUIRED_SETTINGS[receiver.type], *optional_settings}):
        types = [kind for kind, settings in REQUIRED_SETTINGS.items() if name in settings] or ["email"]
        actual, rule = f"a setting without effect, with type {receiver.type}", f"nothing, or type {' or '.join(types)}"
        yield build_complaint(file, place, name, actual, rule)
    if receiver.type == "email" and ("user" in present_keys) != ("secret_file" in present_keys):
        present_key, missing_key = ("user", "secret_file") if "user" in present_keys else ("secret_file", "user")
        yield build_complaint(file, place, missing_key, f"{present_key} without {missing_key}", "both or none")
    if receiver.secret and receiver.secret_file:
        yield build_complaint(file, place, "secret", "secret beside secret_file", "one of them")
    if receiver.secret_file and (wrong := judge_secret_file(receiver.secret_file, inventory, select_kind(receiver))):
        yield build_complaint(
            file, place, "secret_file", f"{receiver.secret_file}: {wrong[0]}", wrong[1], "config-secret-file"
        )


def build_complaint(
    file: str, place: str, name: str, actual: str, rule: str, reference: str = "config-invalid"
) -> tuple[set[str], Complaint]:
    key = f"{place}.{name}" if name else place
    # Whether one is missing is not asked where the other one is wrong.
    related_keys = {f"{place}.secret"} if name == "secret_file" else set()
    return {key, f"{place}.type", *related_keys}, Complaint(file, f"gpustack.{key}", actual, rule, reference)

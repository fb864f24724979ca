"""Who gets alerts, by severity. The secret part of an address is a file on this machine, mode 0600, or a key of a
Secret that is in the cluster already: never a value of the spec."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.complaint import Complaint
from gpustack.config.secrets.secret_file import INTEGRATION, PASSWORD, URL, Kind, judged, secret
from gpustack.config.sections.section import Section

KEY = "alerts.receivers"
SEVERITIES = ("critical", "warning", "info")
# Nobody may have meant that these go to nobody: they have a receiver, or say that they have none.
NEVER_FORGOTTEN = ("critical", "warning")
DEFAULT = "default"
OURS = "gpustack-receivers"
"""The Secret of ours, with the content of the files of all receivers, each under its name."""


class Receiver(Section):
    type: Annotated[
        Literal["webhook", "slack", "pagerduty", "email"] | None,
        Field(description="kind of receiver: webhook, slack, pagerduty or email"),
    ] = None
    secret_file: Annotated[
        str | None,
        Field(
            description="a file on this machine, mode 0600, with the webhook's or Slack's URL, PagerDuty's key, or the "
            "mail server's password"
        ),
    ] = None
    secret: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9._-]+$",
            description="instead of it NAME/KEY: a Secret that is in the namespace of the monitoring already",
        ),
    ] = None
    channel: Annotated[str, Field(description="with slack, the channel")] = ""
    to: Annotated[str, Field(description="with email, the recipient")] = ""
    sender: Annotated[str, Field(description="with email, the sender")] = ""
    smarthost: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9.-]+:[0-9]{1,5})?$", description="with email, the mail server as name:port")
    ] = ""
    user: Annotated[str, Field(description="with email, the login at the mail server; default: none")] = ""


Several = tuple[Receiver, ...] | None


class Receivers(Section):
    """None: not said, so those of `default`; an empty list: nobody."""

    default: Annotated[
        Several,
        Field(
            description="receivers of each severity without a list of its own, as [{type: webhook, secret_file: FILE}] "
            "with a file on this machine, mode 0600"
        ),
    ] = None
    critical: Annotated[
        Several,
        Field(description="of critical alerts, as [{type: pagerduty, secret_file: FILE}]; [] is nobody"),
    ] = None
    warning: Annotated[
        Several,
        Field(description="of warnings, as [{type: slack, channel: '#gpus', secret_file: FILE}]"),
    ] = None
    info: Annotated[
        Several,
        Field(description="of info alerts, as [{type: email, to: …, sender: …, smarthost: 'mail.example.com:587'}]"),
    ] = None

    def of(self, severity: str) -> tuple[str, tuple[Receiver, ...]]:
        """The list that counts for a severity: its key, and who is in it."""
        own: Several = getattr(self, severity)
        return (DEFAULT, self.default or ()) if own is None else (severity, own)

    def named(self) -> dict[str, Receiver]:
        """All, by the name that Alertmanager, the Secret and reports have for them: critical-slack, and
        critical-slack-2 for the second of that type."""
        found: dict[str, Receiver] = {}
        for key in (*SEVERITIES, DEFAULT):
            found |= {f"{key}-{name}": one for name, one in numbered(getattr(self, key) or ())}
        return found

    def names(self, severity: str) -> tuple[str, ...]:
        """Who gets the alerts of a severity."""
        key, receivers = self.of(severity)
        return tuple(f"{key}-{name}" for name, _ in numbered(receivers))


def numbered(receivers: tuple[Receiver, ...]) -> Iterator[tuple[str, Receiver]]:
    count: Counter[str] = Counter()
    for one in receivers:
        kind = one.type or ""
        count[kind] += 1
        yield (kind if count[kind] == 1 else f"{kind}-{count[kind]}"), one


# Settings that a type needs, and those that it may have; none of the others has an effect.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "webhook": ("secret_file",),
    "slack": ("secret_file", "channel"),
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
KINDS = {"webhook": URL, "slack": URL, "pagerduty": INTEGRATION}
SETTINGS = ("secret_file", "channel", "to", "sender", "smarthost", "user")


def kind(receiver: Receiver) -> Kind:
    """What its file has to hold."""
    return KINDS.get(receiver.type or "", PASSWORD)


def place_of(name: str, receiver: Receiver) -> tuple[str, str] | None:
    """The Secret and the key in the cluster that Alertmanager reads; None where it needs none."""
    if receiver.secret:
        theirs, _, key = receiver.secret.partition("/")
        return theirs, key
    return (OURS, name) if receiver.secret_file else None


def secrets_of(receivers: Receivers) -> dict[str, str]:
    """The content of their files, by name. Raises ConfigError when one cannot be used."""
    files = {name: one for name, one in receivers.named().items() if one.secret_file}
    return {name: secret(one.secret_file, kind(one)) for name, one in files.items() if one.secret_file}


def complaints(file: str, receivers: Receivers, inventory: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """The keys that each is about, and the complaint. `inventory` is the folder that Ansible reads whole."""
    if any(getattr(receivers, key) for key in (*SEVERITIES, DEFAULT)) and receivers.default is None:
        for severity in NEVER_FORGOTTEN:
            if getattr(receivers, severity) is None:
                allowed = f"a list of receivers here or in {KEY}.{DEFAULT}; [] for nobody"
                yield of(file, f"{KEY}.{severity}", "", "nothing, while others have a receiver", allowed)
    for key in (*SEVERITIES, DEFAULT):
        for at, one in enumerate(getattr(receivers, key) or ()):
            yield from of_one(file, f"{KEY}.{key}.{at}", one, inventory)


def of_one(file: str, place: str, one: Receiver, inventory: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    if one.type is None:
        yield of(file, place, "type", "nothing", " or ".join(NEEDED))
        return
    given = {name for name in SETTINGS if getattr(one, name)} | ({"secret_file"} if one.secret else set())
    optional = {"user", "secret_file"} if one.type == "email" else set()
    for name in NEEDED[one.type]:
        if name not in given:
            yield of(file, place, name, f"nothing, with type {one.type}", WORDS[name])
    for name in sorted(given - {*NEEDED[one.type], *optional}):
        types = [each for each, needed in NEEDED.items() if name in needed] or ["email"]
        found, allowed = f"a setting without effect, with type {one.type}", f"nothing, or type {' or '.join(types)}"
        yield of(file, place, name, found, allowed)
    if one.type == "email" and ("user" in given) != ("secret_file" in given):
        there, other = ("user", "secret_file") if "user" in given else ("secret_file", "user")
        yield of(file, place, other, f"{there} without {other}", "both or none")
    if one.secret and one.secret_file:
        yield of(file, place, "secret", "secret beside secret_file", "one of them")
    if one.secret_file and (wrong := judged(one.secret_file, inventory, kind(one))):
        yield of(file, place, "secret_file", f"{one.secret_file}: {wrong[0]}", wrong[1], "config-secret-file")


def of(
    file: str, place: str, name: str, found: str, allowed: str, reference: str = "config-invalid"
) -> tuple[set[str], Complaint]:
    key = f"{place}.{name}" if name else place
    # Whether one is missing is not asked where the other one is wrong.
    instead = {f"{place}.secret"} if name == "secret_file" else set()
    return {key, f"{place}.type", *instead}, Complaint(file, f"gpustack.{key}", found, allowed, reference)

"""Whether the receiver of alerts is whole: each way to a human needs settings of its own, and most need a secret."""

from collections.abc import Iterator
from pathlib import Path

from gpustack.config.complaint import Complaint
from gpustack.config.secrets.secret_file import INTEGRATION, PASSWORD, URL, Kind, judged, secret
from gpustack.config.sections.monitoring import Receiver

KEY = "alerts.receiver"
# Settings that a way needs, and those that it may have; none of the others has an effect.
NEEDED = {
    "none": (),
    "webhook": ("secret_file",),
    "slack": ("secret_file", "channel"),
    "pagerduty": ("secret_file",),
    "email": ("to", "sender", "smarthost"),
}
WORDS = {
    "secret_file": "the path of a file with the secret, as ~/alerts-secret",
    "channel": "a channel, as #gpus",
    "to": "an address, as ops@example.com",
    "sender": "an address, as gpustack@example.com",
    "smarthost": "a mail server, as mail.example.com:587",
}
KINDS = {"webhook": URL, "slack": URL, "pagerduty": INTEGRATION}
SETTINGS = ("secret_file", "channel", "to", "sender", "smarthost", "user")


def kind(receiver: Receiver) -> Kind:
    """What its file has to hold."""
    return KINDS.get(receiver.type, PASSWORD)


def secret_of(receiver: Receiver) -> str:
    """Empty where it has none. Raises ConfigError when the file cannot be used."""
    return secret(receiver.secret_file, kind(receiver)) if receiver.type != "none" and receiver.secret_file else ""


def complaints(file: str, receiver: Receiver, inventory: Path | None) -> Iterator[tuple[set[str], Complaint]]:
    """The keys that each is about, and the complaint. `inventory` is the folder that Ansible reads whole. With
    `type: none` the other settings are kept on purpose; without `type` it was forgotten, and no alert would be sent."""
    if receiver.type == "none" and "type" in receiver.model_fields_set:
        return
    given = {name for name in SETTINGS if getattr(receiver, name)}
    optional = {"user", "secret_file"} if receiver.type == "email" else set()
    for name in NEEDED[receiver.type]:
        if name not in given:
            yield of(file, name, f"nothing, with type {receiver.type}", WORDS[name])
    for name in sorted(given - {*NEEDED[receiver.type], *optional}):
        ways = [way for way, needed in NEEDED.items() if name in needed] or ["email"]
        found, allowed = f"a setting without effect, with type {receiver.type}", f"nothing, or type {' or '.join(ways)}"
        yield of(file, name, found, allowed)
    if receiver.type == "email" and ("user" in given) != ("secret_file" in given):
        there, other = ("user", "secret_file") if "user" in given else ("secret_file", "user")
        yield of(file, other, f"{there} without {other}", "both or none")
    if (
        receiver.type != "none"
        and receiver.secret_file
        and (wrong := judged(receiver.secret_file, inventory, kind(receiver)))
    ):
        yield of(file, "secret_file", f"{receiver.secret_file}: {wrong[0]}", wrong[1], "config-secret-file")


def of(file: str, name: str, found: str, allowed: str, reference: str = "config-invalid") -> tuple[set[str], Complaint]:
    key = f"{KEY}.{name}"
    return {key, f"{KEY}.type"}, Complaint(file, f"gpustack.{key}", found, allowed, reference)

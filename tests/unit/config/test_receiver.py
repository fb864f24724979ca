"""The receiver of alerts: what each way needs, what has no effect, and files that hold a secret or something else."""

from pathlib import Path
from typing import Any

import pytest

from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.resolved import exported
from gpustack.config.sections.monitoring import Receiver
from gpustack.config.sections.receiver import secret_of
from gpustack.config.spec import Spec
from gpustack.errors import ConfigError
from tests.worlds.specs import SPEC_FILE, complaints

HOOK = "https://hooks.example.com/services/T0/B0/only-we-know"
MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "secret", HOOK)


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(f"{text}\n")
    path.chmod(mode)
    return path


def wrong(**receiver: Any) -> dict[str, str]:
    """What is reported of each key."""
    found = complaints({"alerts": {"receiver": receiver}})
    assert {one.file for one in found} <= {SPEC_FILE}
    return {one.key.removeprefix("gpustack.alerts.receiver."): one.found for one in found}


@pytest.mark.parametrize(
    ("receiver", "content"),
    [
        ({}, ""),
        ({"type": "webhook"}, "http://10.77.0.1:9095/hook"),
        ({"type": "webhook"}, f"https://example.com/{'x' * 1500}"),
        ({"type": "slack", "channel": "#gpus"}, HOOK),
        ({"type": "pagerduty"}, "0123456789abcdef0123456789abcdef"),
        ({**MAIL, "user": "k8s"}, "correct-horse"),
    ],
)
def test_whole_receivers(tmp_path: Path, receiver: dict[str, str], content: str) -> None:
    more = {"secret_file": str(written(tmp_path / "secret", content))} if content else {}
    assert wrong(**receiver, **more) == {}
    assert secret_of(Receiver(**receiver, **more)) == content  # type: ignore[arg-type]


def test_mail_without_a_login_needs_no_secret() -> None:
    assert wrong(**MAIL) == {}


def test_all_that_is_missing_is_reported_at_once() -> None:
    assert set(wrong(type="slack")) == {"secret_file", "channel"}
    assert set(wrong(type="email")) == {"to", "sender", "smarthost"}
    assert set(wrong(type="webhook")) == set(wrong(type="pagerduty")) == {"secret_file"}


def test_what_has_no_effect_is_no_setting(file: Path) -> None:
    assert wrong(secret_file=str(file)) == {"secret_file": "a setting without effect, with type none"}
    assert set(wrong(type="webhook", secret_file=str(file), channel="#gpus", user="me")) == {"channel", "user"}
    (found,) = complaints({"alerts": {"receiver": {"channel": "#gpus"}}})
    assert found.allowed == "nothing, or type slack"


def test_a_receiver_may_be_put_aside(tmp_path: Path) -> None:
    assert wrong(type="none", secret_file=str(tmp_path / "gone"), channel="#gpus") == {}
    assert secret_of(Receiver(type="none", secret_file=str(tmp_path / "gone"))) == ""


def test_user_and_password_of_mail_go_together(file: Path) -> None:
    assert wrong(**MAIL, user="k8s") == {"secret_file": "user without secret_file"}
    assert wrong(**MAIL, secret_file=str(file)) == {"user": "secret_file without user"}


def test_a_wrong_type_or_value_is_reported_once(file: Path) -> None:
    assert set(wrong(type="sms", secret_file=str(file))) == {"type"}
    assert set(wrong(**MAIL | {"smarthost": "no port"})) == {"smarthost"}


@pytest.mark.parametrize(
    ("kind", "content", "mode", "found"),
    [
        ("webhook", "hooks.example.com/only-we-know", 0o600, "a file with something else"),
        ("webhook", "https://", 0o600, "a file with something else"),
        ("webhook", HOOK, 0o644, "a file of mode 0644, which others can read"),
        ("webhook", f"{HOOK}\n{HOOK}", 0o600, "more than one word"),
        ("webhook", f"{HOOK}/{'x' * 2048}", 0o600, "more than one word"),
        ("pagerduty", "x" * 257, 0o600, "more than one word"),
        ("pagerduty", "", 0o600, "an empty file"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, kind: str, content: str, mode: int, found: str) -> None:
    path = written(tmp_path / "secret", content, mode)
    (complaint,) = complaints({"alerts": {"receiver": {"type": kind, "secret_file": str(path)}}})
    assert (complaint.found, complaint.reference) == (f"{path}: {found}", "config-secret-file")
    assert not content or "only-we-know" not in str(complaint)
    with pytest.raises(ConfigError) as raised:
        secret_of(Receiver(type=kind, secret_file=str(path)))  # type: ignore[arg-type]
    assert "only-we-know" not in f"{raised.value} {raised.value.why}"


def test_a_file_that_is_not_there() -> None:
    assert wrong(type="webhook", secret_file="/nowhere/hook") == {"secret_file": "/nowhere/hook: no such file"}
    assert wrong(type="webhook", secret_file="hook") == {"secret_file": "hook: a relative path"}


def test_only_a_salted_hash_leaves_this_machine_and_it_goes_to_control_planes(file: Path) -> None:
    """A password that people chose is soon guessed from a hash: it goes where the secret itself can be read."""
    spec = Spec.model_validate({"alerts": {"receiver": {"type": "webhook", "secret_file": str(file)}}})
    hosts = (Host("h1", "192.0.2.1", groups=frozenset({CONTROL_PLANE})), Host("h2", "192.0.2.2"))
    first, second = (exported(Inventory(None, hosts, spec), hosts[0]) for _ in range(2))
    worker = exported(Inventory(None, hosts, spec), hosts[1])
    assert "RECEIVER" not in worker
    assert len(worker["SALT"]) == 32
    assert len(first["RECEIVER"]) == 64
    assert first["RECEIVER"] != second["RECEIVER"]
    assert "only-we-know" not in str(first)
    assert "RECEIVER" not in exported(Inventory(None, hosts, Spec()), hosts[0])

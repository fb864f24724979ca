"""The receivers of alerts: who gets which severity, what each type needs, what has no effect, and files that hold a
secret or something else."""

from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.variables import build_probe_variables
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.sections.receiver import Receivers, read_secrets
from gpustack.config.spec import Spec
from gpustack.errors import ConfigError
from gpustack.rollout.resolved_spec import resolve_spec
from tests.unit.config.specs import SPEC_FILE, list_complaint_ids, list_complaints

HOOK = "https://hooks.example.com/services/T0/B0/only-we-know"
MAIL = {"type": "email", "to": "ops@example.com", "sender": "k8s@example.com", "smarthost": "mail.example.com:587"}
PAGER = {"type": "pagerduty", "secret": "ours/pagerduty"}
KEY = "gpustack.alerts.receivers."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_secret(tmp_path / "secret", HOOK)


def write_secret(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(f"{text}\n")
    path.chmod(mode)
    return path


def find_mistakes(receivers: Any) -> dict[str, str]:
    """Find what is reported of each key."""
    complaints = list_complaints({"alerts": {"receivers": receivers}})
    assert {complaint.file for complaint in complaints} <= {SPEC_FILE}
    return {complaint.key.removeprefix(KEY): complaint.actual for complaint in complaints}


def find_receiver_mistakes(**receiver: Any) -> dict[str, str]:
    """Find the mistakes of one receiver for all severities."""
    return {key.removeprefix("default.0."): mistake for key, mistake in find_mistakes({"default": [receiver]}).items()}


def build_receivers(**receivers: Any) -> Receivers:
    return Receivers.model_validate(receivers)


def test_a_severity_without_a_list_has_that_of_default() -> None:
    receivers = build_receivers(default=[MAIL, PAGER], warning=[PAGER, MAIL, MAIL], info=[])
    assert receivers.list_names("critical") == ("default-email", "default-pagerduty")
    assert receivers.list_names("warning") == ("warning-pagerduty", "warning-email", "warning-email-2")
    assert receivers.list_names("info") == ()
    assert list(receivers.name_receivers()) == [*receivers.list_names("warning"), *receivers.list_names("critical")]


def test_without_receivers_nobody_is_notified() -> None:
    assert Receivers().name_receivers() == {}
    assert find_mistakes({}) == find_mistakes({"critical": [], "info": None}) == {}


def test_critical_and_warning_are_not_forgotten() -> None:
    """Info may be."""
    assert find_mistakes({"info": [MAIL]}) == dict.fromkeys(
        ("critical", "warning"), "nothing, while others have a receiver"
    )
    assert find_mistakes({"critical": [PAGER], "warning": []}) == {}
    assert find_mistakes({"default": [], "info": [MAIL]}) == {}


@pytest.mark.parametrize(
    ("receiver", "content"),
    [
        ({"type": "webhook"}, "http://10.77.0.1:9095/hook"),
        ({"type": "webhook"}, f"https://example.com/{'x' * 1500}"),
        ({"type": "slack", "channel": "#gpus"}, HOOK),
        ({"type": "msteams"}, f"https://prod-07.westeurope.logic.azure.com:443/workflows/{'x' * 32}/invoke?sig=y"),
        ({"type": "pagerduty"}, "0123456789abcdef0123456789abcdef"),
        ({**MAIL, "user": "k8s"}, "correct-horse"),
    ],
)
def test_complete_receivers_are_accepted(tmp_path: Path, receiver: dict[str, str], content: str) -> None:
    whole_receiver = receiver | {"secret_file": str(write_secret(tmp_path / "secret", content))}
    assert find_receiver_mistakes(**whole_receiver) == {}
    assert read_secrets(build_receivers(default=[whole_receiver])) == {f"default-{receiver['type']}": content}
    assert find_receiver_mistakes(**receiver, secret="ours/key.txt") == {}
    assert read_secrets(build_receivers(default=[receiver | {"secret": "ours/key.txt"}])) == {}


def test_mail_without_a_login_needs_no_secret() -> None:
    assert find_receiver_mistakes(**MAIL) == {}


def test_all_that_is_missing_is_reported_at_once() -> None:
    assert set(find_receiver_mistakes(type="slack")) == {"secret_file", "channel"}
    assert set(find_receiver_mistakes(type="email")) == {"to", "sender", "smarthost"}
    assert (
        set(find_receiver_mistakes(type="webhook"))
        == set(find_receiver_mistakes(type="msteams"))
        == set(find_receiver_mistakes(type="pagerduty"))
        == {"secret_file"}
    )
    assert find_receiver_mistakes() == find_receiver_mistakes(channel="#gpus") == {"type": "nothing"}


def test_what_is_wrong_in_several_lists_is_reported_at_once(tmp_path: Path) -> None:
    """The mistakes are those that pydantic finds and those that it does not, within one list, too."""
    mode = write_secret(tmp_path / "open", HOOK, 0o644)
    ids = list_complaint_ids(
        {
            "alerts": {
                "receivers": {
                    "page": [],
                    "critical": [
                        {"type": "fax"},
                        {"type": "pagerduty", "secret_file": "/nowhere/key"},
                        {"typ": "slack"},
                    ],
                    "warning": [{"type": "slack", "channel": "#gpus", "secret_file": str(mode)}],
                    "info": [{"type": "webhook"}],
                }
            }
        }
    )
    assert sorted((key.removeprefix(KEY), reference) for key, reference in ids) == [
        ("critical.0.type", "config-invalid"),
        ("critical.1.secret_file", "config-secret-file"),
        ("critical.2.typ", "config-unknown-key"),
        ("critical.2.type", "config-invalid"),
        ("info.0.secret_file", "config-invalid"),
        ("page", "config-unknown-key"),
        ("warning.0.secret_file", "config-secret-file"),
    ]


def test_an_unknown_severity_or_setting_names_those_there_are() -> None:
    (severity,) = list_complaints({"alerts": {"receivers": {"critcal": [MAIL], "default": [MAIL]}}})
    assert (severity.nearest, severity.rule) == ("critical", "one of default, critical, warning, info")
    (setting,) = list_complaints({"alerts": {"receivers": {"default": [{**MAIL, "smart_host": "x:1"}]}}})
    assert (setting.key, setting.nearest) == (f"{KEY}default.0.smart_host", "smarthost")
    assert "secret_file" in setting.rule


@pytest.mark.parametrize("receivers", [{"type": "webhook"}, "pagerduty", ["pagerduty"]])
def test_other_shapes_than_a_list_are_refused(receivers: Any) -> None:
    assert set(find_mistakes({"default": receivers})) <= {"default", "default.0"}
    assert find_mistakes({"default": receivers})


def test_what_has_no_effect_is_no_setting(file: Path) -> None:
    assert set(find_receiver_mistakes(type="webhook", secret_file=str(file), channel="#gpus", user="me")) == {
        "channel",
        "user",
    }
    (complaint,) = list_complaints({"alerts": {"receivers": {"default": [PAGER | {"channel": "#gpus"}]}}})
    assert complaint.rule == "nothing, or type slack"


def test_a_secret_is_in_one_place(file: Path) -> None:
    assert find_receiver_mistakes(**PAGER, secret_file=str(write_secret(file, "key"))) == {
        "secret": "secret beside secret_file"
    }
    assert set(find_receiver_mistakes(type="pagerduty", secret="no-key")) == {"secret"}


def test_user_and_password_of_mail_go_together(tmp_path: Path) -> None:
    password = str(write_secret(tmp_path / "password", "correct-horse"))
    assert find_receiver_mistakes(**MAIL, user="k8s") == {"secret_file": "user without secret_file"}
    assert find_receiver_mistakes(**MAIL, secret_file=password) == {"user": "secret_file without user"}
    assert find_receiver_mistakes(**MAIL, secret="ours/mail") == {"user": "secret_file without user"}


def test_a_wrong_type_or_value_is_reported_once(file: Path) -> None:
    assert set(find_receiver_mistakes(type="sms", secret_file=str(file))) == {"type"}
    assert set(find_receiver_mistakes(**MAIL | {"smarthost": "no port"})) == {"smarthost"}


@pytest.mark.parametrize(
    ("kind", "content", "mode", "actual"),
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
def test_unfit_secret_files_are_refused_unread(tmp_path: Path, kind: str, content: str, mode: int, actual: str) -> None:
    path = write_secret(tmp_path / "secret", content, mode)
    receivers = {"default": [{"type": kind, "secret_file": str(path)}]}
    (complaint,) = list_complaints({"alerts": {"receivers": receivers}})
    assert (complaint.actual, complaint.reference) == (f"{path}: {actual}", "config-secret-file")
    assert not content or "only-we-know" not in str(complaint)
    with pytest.raises(ConfigError) as excinfo:
        read_secrets(build_receivers(**receivers))
    assert "only-we-know" not in f"{excinfo.value} {excinfo.value.reason}"


def test_a_missing_secret_file_is_reported() -> None:
    assert find_receiver_mistakes(type="webhook", secret_file="/nowhere/hook") == {
        "secret_file": "/nowhere/hook: no such file"
    }
    assert find_receiver_mistakes(type="webhook", secret_file="hook") == {"secret_file": "hook: a relative path"}


def test_only_salted_hashes_leave_this_machine_and_they_go_to_control_planes(file: Path) -> None:
    """A password that people chose is soon guessed from a hash: it goes where the secret itself can be read."""
    receivers = {"critical": [PAGER], "default": [MAIL, {"type": "webhook", "secret_file": str(file)}]}
    spec = Spec.model_validate({"alerts": {"receivers": receivers}})
    hosts = (Host("h1", "192.0.2.1", groups=frozenset({CONTROL_PLANE})), Host("h2", "192.0.2.2"))
    first, second = (build_probe_variables(Inventory(None, hosts, spec), hosts[0]) for _ in range(2))
    assert "RECEIVERS" not in build_probe_variables(Inventory(None, hosts, spec), hosts[1])
    assert len(first["SALT"]) == 32
    foreign_line, own_line = first["RECEIVERS"].splitlines()
    assert foreign_line == "critical-pagerduty ours pagerduty -"
    name, secret, key, digest = own_line.split(" ")
    assert (name, secret, key, len(digest)) == ("default-webhook", "gpustack-receivers", "default-webhook", 64)
    assert first["RECEIVERS"] != second["RECEIVERS"]
    assert "only-we-know" not in str(first)
    assert "RECEIVERS" not in build_probe_variables(Inventory(None, hosts, Spec()), hosts[0])
    assert resolve_spec(Inventory(None, hosts, spec), "h1:6443", {})["alerts"]["secret_files"] == {
        "default-webhook": str(file)
    }

"""The script that puts the receivers' secrets into the cluster, and the one that compares them: with a kubectl that
keeps each Secret in a file, and knows no templates but these two."""

import os
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from gpustack.ask.egress import build_digests
from gpustack.ask.probe import Answer, Shell
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import locate_playbooks
from gpustack.config.spec import Spec
from gpustack.probes.monitoring.alerting import SECRETS

PUT = "".join((locate_playbooks() / "files" / name).read_text() for name in ("limits.sh", "namespace.sh", "apply.sh"))
PUT += (locate_playbooks() / "roles" / "monitoring" / "files" / "receivers.sh").read_text()
# With all that a shell minds.
HOOK = "https://hooks.example.com/services/only-we-know?a=b%20c&d='\"$HOME`id`"
KUBECTL = r"""#!/bin/sh
echo "$*" >>"$WORLD/argv"
case "$*" in
*'get namespace'*) cat "$WORLD/namespace" ;;
*'create -f -'*) cat >/dev/null; echo Active >"$WORLD/namespace" ;;
*'get --ignore-not-found -f -'*) cat >/dev/null; cat "$WORLD/owners" 2>/dev/null || : ;;
*'get secret'*)
  for word; do case $word in
    gpustack-receivers | ours) file=$WORLD/$word ;;
    *'eq $name "'*) key=${word#*'eq $name "'} key=${key%%'"'*} ;;
  esac; done
  [ -e "$file" ] || exit 0
  data=$(sed -n 's/^  \([^ ]*\): /\1 /p' "$file")
  if [ -n "${key-}" ]; then echo "$data" | awk -v key="$key" '$1 == key { printf $2 }'; else echo "$data"; fi ;;
*'delete Secret -l app.kubernetes.io/managed-by=gpustack --field-selector metadata.name=gpustack-receivers'*)
  rm "$WORLD/gpustack-receivers"; echo secret/gpustack-receivers ;;
*apply*) cat >"$WORLD/gpustack-receivers" ;;
*) exit 1 ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    for name in ("namespace", "argv"):
        (tmp_path / name).touch()
    return tmp_path


def run(world: Path, script: str, text: str = "", **variables: str) -> str:
    env = variables | {"PATH": f"{world}/bin:{os.environ['PATH']}", "WORLD": str(world)}
    process = subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, env=env, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def put(world: Path, **secrets: str) -> str:
    lines = [f"{name.replace('_', '-')} {b64encode(secret.encode()).decode()}\n" for name, secret in secrets.items()]
    return run(world, PUT, "".join(["#\n", *lines]), NAMESPACE="monitoring")


def compare_secrets(world: Path, digests: str) -> Mapping[str, str]:
    """Compare secrets as on a control plane: there is an admin.conf."""
    file = world / "wanted"
    file.touch(mode=0o600)
    file.write_text(f"{digests}\n")
    slack = {"type": "slack", "secret": "ours/slack.url", "channel": "#gpus"}
    receivers = {"default": [{"type": "webhook", "secret_file": str(file)}], "info": [slack]}
    spec = Spec.model_validate({"alerts": {"receivers": receivers}})
    hosts = (Host("h1", "192.0.2.1", groups=frozenset({CONTROL_PLANE})),)
    assert isinstance(SECRETS.question, Shell)
    script = SECRETS.question.script.replace("/etc/kubernetes/admin.conf", str(file))
    output = run(world, script, MONITORING="monitoring", **build_digests(Inventory(None, hosts, spec), hosts[0]))
    return SECRETS.extract_fact(Answer(SECRETS.id, "h1", 0, output))


def test_a_secret_is_put_once_and_found_the_same(world: Path) -> None:
    def is_now(digests: str) -> str:
        return compare_secrets(world, digests)["default-webhook"]

    assert is_now(HOOK) == "none"
    assert put(world, default_webhook=HOOK) == "changed: namespace monitoring\nchanged: the receivers' secrets\n"
    assert is_now(HOOK) == "same"
    assert put(world, default_webhook=HOOK) == ""
    assert is_now(f"{HOOK}2") == "other"
    assert put(world, default_webhook=f"{HOOK}2").startswith("changed")
    assert is_now(f"{HOOK}2") == "same"


def test_what_no_receiver_has_any_more_is_taken_away(world: Path) -> None:
    both_secrets = {"warning_slack": "http://a.example.com/b", "critical_pagerduty": "key"}
    assert put(world, **both_secrets).startswith("changed")
    assert put(world, **dict(reversed(both_secrets.items()))) == ""
    assert put(world, warning_slack="http://a.example.com/b").startswith("changed")
    assert list(yaml.safe_load((world / "gpustack-receivers").read_text())["data"]) == ["warning-slack"]
    assert put(world).startswith("changed")
    assert not (world / "gpustack-receivers").exists()
    assert put(world) == ""


def test_a_secret_of_that_name_from_others_stays(world: Path) -> None:
    (world / "gpustack-receivers").write_text("data:\n  theirs: eA==\n")
    (world / "owners").write_text("Secret monitoring gpustack-receivers\n")
    (world / "namespace").write_text("Active\n")
    process = subprocess.run(
        ["sh", "-c", PUT], input="default-webhook eA==\n", capture_output=True, text=True, check=False,
        env={"PATH": f"{world}/bin:{os.environ['PATH']}", "WORLD": str(world), "NAMESPACE": "monitoring"},
    )  # fmt: skip
    refusal = "Secret monitoring/gpustack-receivers is not from gpustack, and is left as it is"
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.startswith(refusal)
    assert (world / "gpustack-receivers").read_text() == "data:\n  theirs: eA==\n"


def test_without_secrets_no_namespace_is_made(world: Path) -> None:
    assert put(world) == ""
    assert "create" not in (world / "argv").read_text()


def test_of_a_secret_that_is_not_ours_only_the_key_is_checked(world: Path) -> None:
    assert compare_secrets(world, HOOK)["info-slack"] == "none"
    (world / "ours").write_text("data:\n  slack-url: eA==\n")
    assert compare_secrets(world, HOOK)["info-slack"] == "none"
    (world / "ours").write_text("data:\n  other: eA==\n  slack.url: eA==\n")
    assert compare_secrets(world, HOOK)["info-slack"] == "same"


def test_it_is_in_no_argument(world: Path) -> None:
    put(world, default_webhook=HOOK)
    compare_secrets(world, HOOK)
    text = (world / "argv").read_text()
    document = yaml.safe_load((world / "gpustack-receivers").read_text())
    assert "only-we-know" not in text
    assert document["data"]["default-webhook"] not in text
    assert document["metadata"] == {
        "name": "gpustack-receivers",
        "namespace": "monitoring",
        "labels": {"app.kubernetes.io/managed-by": "gpustack"},
    }


def test_where_no_secret_is_wanted_nobody_is_asked(world: Path) -> None:
    assert isinstance(SECRETS.question, Shell)
    script = SECRETS.question.script.replace("/etc/kubernetes/admin.conf", "/dev/null")
    assert run(world, script, MONITORING="monitoring", SALT="s") == ""
    worker = SECRETS.question.script.replace("/etc/kubernetes/admin.conf", str(world / "none"))
    assert run(world, worker, MONITORING="monitoring", SALT="s", RECEIVERS="x y z -\n") == ""
    assert (world / "argv").read_text() == ""

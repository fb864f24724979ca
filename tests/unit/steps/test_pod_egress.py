"""Pods of ours leave the cluster by values without a secret, and by objects that roles write and probes compare."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.pod_egress import build_object_texts, list_consumers, list_entries
from gpustack.ask.probe import CLUSTER, Answer, Shell
from gpustack.ask.variables import build_probe_variables
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.config.resources import locate_playbooks
from gpustack.probes.kubernetes.pod_egress import POD_EGRESS
from gpustack.rollout.resolved_spec import resolve_spec
from gpustack.steps.gpu.operator_values import build_release
from gpustack.steps.monitoring.receiver import build_alertmanager_values
from tests.unit.config.specs import build_inventory
from tests.unit.config.test_certificate_file import build_authority, encode
from tests.worlds.snapshots.gpus import BARE, build_snapshot

PASSWORD = 's3cret/with:odd#chars%$"x'
PROXY = {"http": "http://p:3128", "no_proxy": [".example.com"]}
FILES = locate_playbooks() / "files"
PUT = "".join((FILES / name).read_text() for name in ("limits.sh", "namespace.sh", "apply.sh", "pod-egress.sh"))
RELEASE_VALUES = (
    '{"secretEnv": "gpustack-driver-proxy", "certConfig": {"name": "gpustack-driver-ca"}, '
    '"repoConfig": {"configMapName": "gpustack-driver-sources"}}'
)
# As ubuntu:24.04 has it in /etc/apt/sources.list.d/ubuntu.sources, with a mirror in place of the archive.
SOURCES = """Types: deb
URIs: http://192.0.2.9/ubuntu/
Suites: noble noble-updates
Components: main universe restricted multiverse
Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg
"""
# Keeps each object in a file, and answers the templates of the script and of the probe.
KUBECTL = r"""#!/bin/sh
echo "$*" >>"$WORLD/argv"
case "$*" in
*'get namespace'*) echo Active privileged ;;
*'get --ignore-not-found -f -'*) cat >/dev/null ;;
*' get Secret '* | *' get ConfigMap '*)
  for word; do case $word in gpustack-*) name=$word ;; esac; done
  [ ! -e "$WORLD/$name" ] || sed -n 's/^  \([^ ]*\): /\1 /p' "$WORLD/$name" ;;
*' delete Secret '* | *' delete ConfigMap '*)
  name=${*##*metadata.name=} name=${name%% *}
  rm "$WORLD/$name"; echo "kind/$name" ;;
*' delete pods '*) echo "$*" >>"$WORLD/renewed" ;;
*apply*) cat >"$WORLD/new"; mv "$WORLD/new" "$WORLD/$(sed -n 's/.*{name: \([^,]*\),.*/\1/p' "$WORLD/new")" ;;
*) exit 1 ;;
esac
"""


def write_spec(folder: Path) -> dict[str, Any]:
    """Write the files of a proxy with a login and a CA, and return its spec."""
    (folder / "ca.crt").write_bytes(encode(build_authority()))
    password = folder / "password"
    password.touch(mode=0o600)
    password.write_text(f"{PASSWORD}\n")
    login = {"user": "kube", "password_file": str(password), "ca_file": str(folder / "ca.crt")}
    return {"proxy": {**PROXY, **login}}


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    return write_spec(tmp_path)


def write_sources(folder: Path, name: str = "ubuntu.sources") -> dict[str, Any]:
    """Write package sources of driver containers, and return their spec."""
    (folder / name).write_text(SOURCES)
    return {"gpu": {"driver": {"repo_config": str(folder / name)}}}


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text(KUBECTL)
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    return tmp_path


def run(world: Path, script: str, text: str = "", **variables: str) -> str:
    env = variables | {"PATH": f"{world}/bin:{os.environ['PATH']}", "WORLD": str(world)}
    process = subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, env=env, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def render_lines(tmp_path: Path, inventory: Inventory) -> str:
    """Let Ansible itself render what the role of the GPU operator gives the script."""
    role = yaml.safe_load((locate_playbooks() / "roles" / "gpu_operator" / "tasks" / "main.yml").read_text())[0]
    variables = {
        "gpu_operator_egress": resolve_spec(inventory, "e:1", {})["pod_egress"]["gpu-operator"],
    }
    command = {**role["ansible.builtin.command"], "argv": ["tee", str(tmp_path / "lines")]}
    play = {"hosts": "localhost", "gather_facts": False, "vars": variables}
    play |= {"tasks": [{"ansible.builtin.command": command}]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    (tmp_path / "templates").symlink_to(locate_playbooks() / "templates")
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    words = [program, "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    process = subprocess.run(
        [*words, str(tmp_path / "play.yml")], check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return (tmp_path / "lines").read_text()


def put(world: Path, lines: str, renew: str = "", values: str = RELEASE_VALUES) -> str:
    return run(world, PUT, lines, NAMESPACE="gpu-operator", NAME="gpustack-driver", RENEW=renew, VALUES=values)


def build_lines(inventory: Inventory) -> str:
    texts = build_object_texts(inventory)
    lines = [
        f"{kind} {name} {line}"
        for (kind, _, name), text in texts.items()
        for line in text.split("\n")
        if "driver" in name
    ]
    return "\n".join(["#", *lines, ""])


def compare(world: Path, inventory: Inventory) -> dict[str, str]:
    assert isinstance(POD_EGRESS.question, Shell)
    script = POD_EGRESS.question.script.replace("/etc/kubernetes/admin.conf", "/dev/null")
    variables = build_probe_variables(inventory, inventory.hosts[0])
    output = run(world, script, SALT=variables["SALT"], POD_EGRESS=variables["POD_EGRESS"])
    return dict(POD_EGRESS.extract_fact(Answer(POD_EGRESS.id, "h1", 0, output)))


def test_ansible_and_the_comparison_render_the_same(tmp_path: Path, spec: dict[str, Any]) -> None:
    inventory = build_inventory(**spec, **write_sources(tmp_path))
    lines = [line for line in render_lines(tmp_path, inventory).splitlines() if line and line != "#"]
    assert sorted(lines) == sorted(build_lines(inventory).split("\n")[1:-1])
    assert len(lines) == 6


def test_objects_are_put_once_and_compared(world: Path, spec: dict[str, Any]) -> None:
    inventory = build_inventory(**spec)
    absent = dict.fromkeys(("gpustack-alertmanager-ca", "gpustack-alertmanager-proxy"), "none")
    assert compare(world, inventory) == absent | dict.fromkeys(("gpustack-driver-ca", "gpustack-driver-proxy"), "none")
    lines = build_lines(inventory)
    assert put(world, lines) == "changed: Secret gpustack-driver-proxy\nchanged: ConfigMap gpustack-driver-ca\n"
    assert compare(world, inventory) == absent | dict.fromkeys(("gpustack-driver-ca", "gpustack-driver-proxy"), "same")
    assert put(world, lines) == ""
    authority = yaml.safe_load((world / "gpustack-driver-ca").read_text())["data"]["gpustack-proxy.crt"]
    assert authority == Path(spec["proxy"]["ca_file"]).read_text()
    Path(spec["proxy"]["password_file"]).write_text("another\n")
    assert compare(world, inventory)["gpustack-driver-proxy"] == "other"
    assert put(world, build_lines(inventory), "app=a") == "changed: Secret gpustack-driver-proxy\n"
    assert "delete pods --wait=false -l app=a" in (world / "renewed").read_text()
    assert put(world, "#\n").count("changed") == 2
    assert not list(world.glob("gpustack-*"))


def test_package_sources_are_an_object_of_their_own(world: Path, spec: dict[str, Any]) -> None:
    """Under the name of the file, which says whether it replaces one of the image."""
    inventory = build_inventory(**spec, **write_sources(world))
    assert compare(world, inventory)["gpustack-driver-sources"] == "none"
    assert "changed: ConfigMap gpustack-driver-sources\n" in put(world, build_lines(inventory))
    assert yaml.safe_load((world / "gpustack-driver-sources").read_text())["data"] == {"ubuntu.sources": SOURCES}
    assert set(yaml.safe_load((world / "gpustack-driver-ca").read_text())["data"]) == {"gpustack-proxy.crt"}
    states = compare(world, inventory)
    assert states["gpustack-driver-sources"] == states["gpustack-driver-ca"] == "same"
    (world / "ubuntu.sources").write_text(SOURCES.replace("noble-updates", "noble-security"))
    assert compare(world, inventory)["gpustack-driver-sources"] == "other"
    assert put(world, build_lines(build_inventory(**spec))) == "changed: ConfigMap gpustack-driver-sources\n"


def test_objects_that_the_release_does_not_name_are_taken_away(world: Path, spec: dict[str, Any]) -> None:
    """The drivers are on the hosts now: a Secret that nothing reads is not kept."""
    lines = build_lines(build_inventory(**spec))
    assert put(world, lines, values='{"enabled": false}') == ""
    put(world, lines)
    assert put(world, lines, values='{"enabled": false}').count("changed") == 2
    assert not list(world.glob("gpustack-*"))


def test_no_argument_and_no_variable_has_the_login(world: Path, spec: dict[str, Any]) -> None:
    inventory = build_inventory(**spec)
    put(world, build_lines(inventory))
    compare(world, inventory)
    texts = [
        (world / "argv").read_text(),
        json.dumps(dict(build_probe_variables(inventory, inventory.hosts[0]))),
        json.dumps(resolve_spec(inventory, "e:1", {})),
        json.dumps(build_alertmanager_values(inventory)),
    ]
    assert [text for text in texts if "s3cret" in text] == []


def build_driver(proxy: dict[str, Any] | None, **spec: Any) -> dict[str, Any]:
    view = View(build_snapshot(BARE, spec=({"proxy": proxy} if proxy else {}) | spec), CLUSTER)
    values: dict[str, Any] = build_release(view).values["driver"]
    return {key: values[key] for key in ("env", "secretEnv", "certConfig", "repoConfig") if key in values}


def test_the_driver_container_gets_the_proxy(spec: dict[str, Any]) -> None:
    """Both spellings: apt in it reads the small one (gpu-driver-container 06a208c, ubuntu24.04/nvidia-driver)."""
    assert build_driver(None) == {}
    env = {entry["name"]: entry["value"] for entry in build_driver(PROXY)["env"]}
    assert {name: env[name] for name in env if "NO" not in name.upper()} == dict.fromkeys(
        ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://p:3128"
    )
    assert env["NO_PROXY"] == env["no_proxy"]
    assert {".example.com", ".svc", "10.96.0.0/12"} <= set(env["no_proxy"].split(","))
    with_login = build_driver(spec["proxy"])
    assert {entry["name"] for entry in with_login.pop("env")} == {"NO_PROXY", "no_proxy"}
    assert with_login == {"secretEnv": "gpustack-driver-proxy", "certConfig": {"name": "gpustack-driver-ca"}}


def test_the_driver_container_gets_the_package_sources(tmp_path: Path) -> None:
    driver = build_driver(None, **write_sources(tmp_path))
    assert driver == {"repoConfig": {"configMapName": "gpustack-driver-sources"}}


def test_the_keys_of_the_login_are_those_that_the_environment_lacks(spec: dict[str, Any]) -> None:
    inventory = build_inventory(**spec)
    entries = list_entries(inventory, list_consumers(inventory.spec)["gpu-operator"])
    assert {entry.key for entry in entries if entry.kind == "Secret"} == {
        "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"
    }  # fmt: skip
    assert [entry.key for entry in entries if entry.kind == "ConfigMap"] == ["gpustack-proxy.crt"]


def test_alertmanager_gets_proxy_and_ca(spec: dict[str, Any]) -> None:
    values = build_alertmanager_values(build_inventory(**spec))
    assert values["config"] == {"global": {"http_config": {"proxy_from_environment": True}}}
    (container,) = values["alertmanagerSpec"]["containers"]
    env = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}
    assert env["HTTPS_PROXY"] == {"secretKeyRef": {"name": "gpustack-alertmanager-proxy", "key": "HTTPS_PROXY"}}
    assert env["SSL_CERT_DIR"] == "/etc/ssl/certs:/etc/alertmanager/configmaps/gpustack-alertmanager-ca"
    assert values["alertmanagerSpec"]["configMaps"] == ["gpustack-alertmanager-ca"]

"""The tasks before the record of step prereqs, as Ansible plays them, and what a host is asked for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.view import View
from gpustack.config.resources import locate_playbooks
from gpustack.rollout.overlay import build_overlay
from gpustack.rollout.resolved_spec import resolve_spec
from gpustack.steps.prereqs.way_out import choose_document
from tests.unit.config.specs import build_inventory
from tests.unit.steps.test_apt_sources import OFFICIAL, build_answers
from tests.unit.steps.way_out_proxies import PASSWORD, SUMS, USER, run_origin, run_proxy_to
from tests.worlds.snapshots import standalone
from tests.worlds.snapshots.hosts import build_snapshot


def play(tmp_path: Path, proxy: str, password: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    """Let Ansible play the tasks before the record of step prereqs, with the files of a real spec."""
    secret = tmp_path / "password"
    secret.touch(mode=0o600)
    secret.write_text(f"{password}\n")
    address = {"http": proxy, "user": USER, "password_file": str(secret)}
    inventory = build_inventory(proxy=address)
    variables: dict[str, Any] = {"gpustack": resolve_spec(inventory, "e:1", {}), "gpustack_host": {"way_out": SUMS}}
    tasks: list[dict[str, Any]] = [{"ansible.builtin.import_tasks": str(locate_playbooks() / "tasks" / "way-out.yml")}]
    tasks += [{"ansible.builtin.debug": {"msg": "goes on"}}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    (tmp_path / "variables.yml").write_text(yaml.safe_dump(variables))
    for name in ("files", "templates"):
        if not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(locate_playbooks() / name)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    words = [program, "-vvv", "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    words += ["-e", f"@{tmp_path}/variables.yml", *flags, str(tmp_path / "play.yml")]
    return subprocess.run(words, check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path)


@pytest.mark.long
def test_a_play_ends_before_it_changes_anything(tmp_path: Path) -> None:
    with run_origin() as port, run_proxy_to(port) as (proxy, _):
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        refused_play = play(tmp_path, address, "0therw0rd")
        assert refused_play.returncode == 2
        assert "the proxy wants another login (407)" in refused_play.stdout
        assert "goes on" not in refused_play.stdout
        assert "0therw0rd" not in refused_play.stdout + refused_play.stderr
        assert "proxy.env 0600" not in refused_play.stdout, "what the script reads, in base64"
        preview = play(tmp_path, address, PASSWORD, "--check")
        assert (preview.returncode, "goes on" in preview.stdout) == (0, True)
        assert proxy.served_targets == [SUMS]


def test_it_is_asked_before_anything_is_recorded() -> None:
    (step_play,) = yaml.safe_load((locate_playbooks() / "prereqs.yml").read_text())
    assert [task["ansible.builtin.import_tasks"] for task in step_play["pre_tasks"]] == [
        "tasks/same-machine.yml", "tasks/way-out.yml", "tasks/record-before.yml"
    ]  # fmt: skip


PROXY: dict[str, Any] = {"proxy": {"http": "http://p:3128"}}
MIRROR: dict[str, Any] = {"source": {"mirror": "http://10.0.0.5:8480", "fingerprint": "A" * 40}}


def test_what_is_asked_for_is_what_the_host_will_download() -> None:
    official = {**OFFICIAL, **PROXY}
    key = "https://pkgs.k8s.io/core:/stable:/v1.36/deb/Release.key"
    assert choose_document(View(build_snapshot({}, official), "h1")) == key
    assert choose_document(View(build_snapshot({}, {**MIRROR, **PROXY}), "h1")) == "http://10.0.0.5:8480/SHA256SUMS"
    assert choose_document(View(build_snapshot({}, OFFICIAL), "h1")) == ""
    workstation = View(standalone.build_snapshot(standalone.build_installed_answers(), official), "w1")
    assert choose_document(workstation).startswith("https://developer.download.nvidia.com/compute/cuda/repos/")


def test_the_overlay_says_what_each_host_asks_for() -> None:
    hosts = build_overlay(build_snapshot({}, {**MIRROR, **PROXY}))["all"]["hosts"]
    assert {facts["gpustack_host"]["way_out"] for facts in hosts.values()} == {"http://10.0.0.5:8480/SHA256SUMS"}


def test_a_host_with_a_source_of_somebody_else_is_not_asked_for_its_key() -> None:
    snapshot = build_snapshot(build_answers("kubernetes"), {**OFFICIAL, **PROXY})
    assert choose_document(View(snapshot, "h1")) == ""

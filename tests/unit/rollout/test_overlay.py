"""The overlay as Ansible reads it: what a host says of itself is text, and never a template."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.rollout.overlay import build_cluster_variables, build_machine_ids, build_overlay, dump_yaml, write_overlay
from tests.worlds.snapshots import gpus, standalone
from tests.worlds.snapshots.answers import make_answer, place_answers
from tests.worlds.snapshots.hosts import build_snapshot

pytestmark = pytest.mark.long

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "{{ gpustack_host.name }} of {{ gpustack.nodes | length }}"}
"""


def test_a_host_name_that_is_a_template_runs_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    name = "{{lookup('pipe','touch${IFS}" + str(trap) + "')}}"
    snapshot = build_snapshot(place_answers("h1", make_answer("system.hostname", f"{name}\n")), {})
    assert build_overlay(snapshot)["all"]["hosts"]["h1"]["gpustack_host"]["name"] == name.lower()
    (tmp_path / "play.yml").write_text(PLAY)
    program = Path(sys.executable).with_name("ansible-playbook")
    process = subprocess.run(
        [program, "-i", write_overlay(snapshot, tmp_path), "-c", "local", "--limit", "h1", tmp_path / "play.yml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert f"{json.dumps(name.lower())[1:-1]} of 2" in process.stdout
    assert not trap.exists()


def test_a_host_without_kubernetes_gets_what_its_roles_install() -> None:
    variables = build_overlay(standalone.build_snapshot(standalone.build_installed_answers()))["all"]["hosts"]["w1"][
        "gpustack_standalone"
    ]
    assert set(variables) == {"standalone-exporters", "standalone-monitoring", "standalone-care"}
    assert variables.pop("standalone-care") == {"units": []}
    assert all(installation["files"] and installation["commands"] for installation in variables.values())


def ask_machine(folder: Path, machine: str | None) -> subprocess.CompletedProcess[str]:
    """Plays the first task of every play on this machine; `machine` is the id that h1 had when it was asked."""
    snapshot = build_snapshot(
        place_answers("h1", make_answer("system.identity", f"{machine}\n\n" if machine is not None else "?")), {}
    )
    (folder / "play.yml").write_text(f"""
- hosts: all
  gather_facts: false
  pre_tasks:
    - ansible.builtin.import_tasks: {locate_playbooks() / "tasks" / "same-machine.yml"}
  tasks:
    - ansible.builtin.debug: {{msg: goes on}}
""")
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [
        program,
        "-i",
        write_overlay(snapshot, folder),
        "-c",
        "local",
        "--limit",
        "h1",
        "--check",
        folder / "play.yml",
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_machine_that_was_asked_is_changed(tmp_path: Path) -> None:
    path = Path("/etc/machine-id")
    process = ask_machine(tmp_path, path.read_text().strip() if path.exists() else "")
    assert (process.returncode, "goes on" in process.stdout) == (0, True), process.stdout


@pytest.mark.parametrize(("text", "identity"), [("0" * 32, "0" * 32), (None, "unknown")])
def test_another_machine_is_not_changed(tmp_path: Path, text: str | None, identity: str) -> None:
    """Nor one that did not tell its machine-id."""
    process = ask_machine(tmp_path, text)
    assert process.returncode == 2
    assert (
        "h1 answers as another machine, and nothing was changed on it (gpustack explain host-another-machine)."
        in process.stdout
    )
    assert f"the one that was asked is {identity}, here it is" in process.stdout
    assert "goes on" not in process.stdout


def test_the_machine_that_was_shown_wins_over_the_one_that_answers_now() -> None:
    """A host is asked again while a rollout goes on; who it was is part of what was agreed to."""
    shown_text, current_text = (
        build_snapshot(place_answers("h1", make_answer("system.identity", f"{id * 32}\n\n")), {}) for id in "ab"
    )
    hosts = build_overlay(current_text, build_machine_ids(shown_text))["all"]["hosts"]
    assert hosts["h1"]["gpustack_machine_id"] == "a" * 32


def test_every_text_is_literal_and_nothing_else_changes(tmp_path: Path) -> None:
    snapshot = build_snapshot({}, {})
    text = write_overlay(snapshot, tmp_path).read_text()

    class Plain(yaml.SafeLoader):
        pass

    Plain.add_constructor("!unsafe", lambda loader, node: str(node.value))
    assert yaml.load(text, Loader=Plain) == build_overlay(snapshot)
    assert [value for value in list_template_values(yaml.compose(text)) if "{" in value] == []


def test_ansible_reads_every_value_as_what_it_is(tmp_path: Path) -> None:
    """`off`, `1.36` and `0644` are texts."""
    snapshot = build_snapshot({}, {"swap": "off"})
    program = Path(sys.executable).with_name("ansible-inventory")
    process = subprocess.run(
        [program, "-i", write_overlay(snapshot, tmp_path), "--list"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    read = json.loads(process.stdout, object_hook=lambda entry: entry.get("__ansible_unsafe", entry))
    expected_hosts = json.loads(json.dumps(build_overlay(snapshot)["all"]["hosts"]))
    assert expected_hosts["h1"]["gpustack"]["swap"] == "off"
    assert read["_meta"]["hostvars"] == expected_hosts


def test_libyaml_and_pyyaml_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [
        "", " x ", "a\nb\n", "\t", "a\r\nb", "\x85", "\u2028", "\x07", "日本", "\U0001f600", "it's", '"', "a: b # c",
        "{{ x }}", "off", "1.36", "0644", "~", "<<", "=", "2026-11-21", "!x", "word " * 100, "it's\nword " * 100,
        "x" * 5000,
    ]  # fmt: skip
    hosts = build_overlay(build_snapshot({}, {}))["all"]["hosts"]
    hosts["h1"] |= build_cluster_variables(gpus.build_snapshot()) | {
        "odd": odd,
        "by name": {text: text for text in odd if text},
    }
    hosts_text = dump_yaml(hosts)
    assert len(hosts_text) > 200_000, "dashboards and rules are in it"
    monkeypatch.delattr(yaml, "CSafeDumper")
    assert dump_yaml(hosts) == hosts_text


def list_template_values(node: Any) -> Iterator[str]:
    """List the values that Ansible would look for templates in."""
    if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str"):
        yield node.value
    for inner in node.value if not isinstance(node, yaml.ScalarNode) else ():
        yield from list_template_values(inner[1] if isinstance(inner, tuple) else inner)

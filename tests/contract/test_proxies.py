"""Programs that ask the API take no proxy from a host's environment, whoever starts them: a play, a remedy or a
probe."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import Probe, Shell
from gpustack.ask.script import PROXY_REMOVAL, render_script
from gpustack.config.host import Host
from gpustack.config.resources import locate_playbooks
from gpustack.remedy.copies import END_LINE, Copies

PLAYBOOKS = [
    path for folder in (locate_playbooks(), locate_playbooks() / "remedy") for path in sorted(folder.glob("*.yml"))
]
VARIABLES = locate_playbooks() / "vars" / "environment.yml"
NAMES = {name for name in yaml.safe_load(VARIABLES.read_text())["play_environment"] if name.lower().endswith("_proxy")}
ENVIRONMENTS = ("{{ play_environment }}", "{{ play_environment | combine(reset_environment) }}")
# As the owner of a host writes them into /etc/environment; a proxy that knows nothing of the cluster.
HOSTILE = dict.fromkeys(NAMES, "http://proxy.example.com:3128") | {"PATH": os.environ["PATH"]}


def list_plays() -> list[tuple[Path, dict[str, Any]]]:
    plays = [(path, play) for path in PLAYBOOKS for play in yaml.safe_load(path.read_text())]
    return [(path, play) for path, play in plays if "ansible.builtin.import_playbook" not in play]


def test_every_play_begins_with_the_one_environment() -> None:
    assert len(list_plays()) > len(PLAYBOOKS) - 2
    for path, play in list_plays():
        files = [(path.parent / name).resolve() for name in play["vars_files"]]
        assert VARIABLES.resolve() in files, path.name
        environment = play["environment"]
        assert environment in ("{{ play_environment }}", "{{ play_environment | combine(reset_environment) }}"), (
            path.name
        )


def test_nothing_sets_a_proxy_again() -> None:
    """The file of the spec's proxy is read by fetch.sh alone, in a shell of its own."""
    users = {
        str(path.relative_to(locate_playbooks()))
        for path in locate_playbooks().rglob("*")
        if path.is_file() and any(name in path.read_text() for name in NAMES)
    }
    assert users - {str(VARIABLES.relative_to(locate_playbooks())), "files/fetch.sh"} == set()


def test_probes_and_plays_have_the_same_names() -> None:
    assert set(PROXY_REMOVAL.split()[1:]) == NAMES
    assert {name.lower() for name in NAMES} == {f"{kind}_proxy" for kind in ("http", "https", "ftp", "all", "no")}


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["of a step", "of reset"])
def test_a_play_has_no_proxy_of_the_host(tmp_path: Path, environment: str) -> None:
    """Ansible itself builds the environment; an empty value is none for Go (golang.org/x/net http/httpproxy,
    FromEnvironment), curl (lib/url.c, detect_proxy) and kubeadm (cmd/kubeadm/app/util/env.go, GetProxyEnvVars)."""
    output = tmp_path / "output"
    task = {"ansible.builtin.shell": {"cmd": f"env >{output}"}}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": [str(VARIABLES)], "environment": environment}
    play["vars"] = {"reset_environment": {"AGREED": "[]"}}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, "tasks": [task]}]))
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    words = [program, "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    process = subprocess.run(
        [*words, str(tmp_path / "play.yml")],
        check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path, env=HOSTILE | {"HOME": str(tmp_path)},
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    variables = dict(line.split("=", 1) for line in output.read_text().splitlines() if "=" in line)
    assert {name: variables[name] for name in NAMES} == dict.fromkeys(NAMES, "")
    assert variables["TIMEOUT_FACTOR"] == "1"


def test_a_probe_has_no_proxy_of_the_host() -> None:
    probe = Probe("shell.environment", Shell("env"), lambda answer: answer.stdout)
    script = render_script([probe], "mark", {"TIMEOUT_FACTOR": "2"})
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, check=True, env=HOSTILE)
    assert "TIMEOUT_FACTOR=2" in process.stdout
    assert [line for line in process.stdout.splitlines() if line.partition("=")[0] in NAMES] == []


def test_the_copies_of_a_fix_are_made_without_a_proxy() -> None:
    """Their script reads and replaces objects with kubectl."""
    scripts = list[str]()

    def record_script(host: Host, script: str, limit: float) -> Iterator[str]:
        scripts.append(script)
        return iter([END_LINE])

    Copies([Host("h1", "192.0.2.1")], record_script).close("h1", "")
    assert scripts[0].startswith(PROXY_REMOVAL)

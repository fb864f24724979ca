"""Rules of ufw that a person wrote stay, also with gpustack as their comment, and where ours would be the same."""

import os
import subprocess
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from gpustack.config.resources import locate_playbooks

ROLE = locate_playbooks() / "roles" / "firewall"
POD = "10.244.0.0/16"
UFW = """#!/bin/sh
case "$*" in
  'show added') cat "$RULES" ;;
  *) echo "$@" >>"$DONE" ;;
esac
"""
# Another product has this name.
FOREIGN = (
    "ufw allow 80/tcp comment 'gpustack'",
    f"ufw route allow from {POD} comment 'my network'",
    "ufw allow 443/tcp comment 'gpustack-cluster of a colleague'",
)


def render() -> str:
    environment = Environment(loader=FileSystemLoader(ROLE / "templates"), trim_blocks=True)
    environment.filters["flatten"] = lambda parts: [entry for part in parts for entry in part]
    text = environment.get_template("ufw.sh.j2").render(
        firewall_flows=[], firewall_control_plane=False, firewall_pod_cidr=POD
    )
    return text.partition("# What is stored and not in the kernel")[0]


def run(script: str, tmp_path: Path, *rules: str) -> list[str]:
    """Run a script with a ufw that has these rules; return what it was asked to change."""
    program, have, flag = tmp_path / "ufw", tmp_path / "rules", tmp_path / "done"
    program.write_text(UFW)
    program.chmod(0o755)
    have.write_text(
        "".join(f"{rule}\n" for rule in ("Added user rules (see 'ufw status' for running firewall):", *rules))
    )
    flag.write_text("")
    script = script.replace("PATH=/usr/local/sbin", f"PATH={tmp_path}:/usr/local/sbin")
    words = {"RULES": str(have), "DONE": str(flag), "PATH": os.environ["PATH"]}
    process = subprocess.run(["sh", "-c", script], env=words, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stderr
    return flag.read_text().splitlines()


def test_ours_are_added_beside_those_of_others(tmp_path: Path) -> None:
    changes = run(render(), tmp_path, *FOREIGN)
    assert [change for change in changes if "delete" in change or "80/tcp" in change or f"from {POD}" in change] == []
    assert changes == [f"route allow to {POD} comment gpustack-cluster", f"allow out to {POD} comment gpustack-cluster"]


def test_a_rule_of_ours_that_is_no_longer_wanted_goes(tmp_path: Path) -> None:
    changes = run(render(), tmp_path, "ufw allow 6443/tcp comment 'gpustack-cluster'", *FOREIGN)
    assert "--force delete allow 6443/tcp" in changes


@pytest.mark.parametrize("rules_of_others", [(), (f"ufw route allow to {POD} comment 'gpustack-cluster'",)])
def test_a_reset_deletes_ours_alone(tmp_path: Path, rules_of_others: tuple[str, ...]) -> None:
    script = (ROLE / "files" / "reset-ufw.sh").read_text()
    assert run(script, tmp_path, *FOREIGN, *rules_of_others) == [
        f"--force route delete allow to {POD}" for _ in rules_of_others
    ]

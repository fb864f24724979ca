"""The network of the pods as a source of firewalld's zone `trusted`: a reset takes it away where gpustack added it."""

import os
import subprocess
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from gpustack.config.resources import locate_playbooks
from gpustack.rollout.host_traces import SOURCE_NOTE
from gpustack.rollout.removal import judge_removal
from tests.worlds.snapshots.reset_hosts import build_snapshot, render_records

PODS = "10.244.0.0/16"
POLICY = "/etc/firewalld/policies/gpustack-forward.xml"
# As firewall-cmd(1) has it: without --permanent it is about what is set now.
FIREWALL_CMD = r"""#!/bin/sh
file=$WORLD/now
for word; do [ "$word" != --permanent ] || file=$WORLD/stored; done
for word; do
  case $word in
    --get-zone-of-source=*) grep -qx "${word#*=}" "$file" && echo trusted; exit ;;
    --query-source=*) grep -qx "${word#*=}" "$file"; exit ;;
    --add-source=*) echo "${word#*=}" >>"$file" ;;
    --remove-source=*) sed -i "\,^${word#*=}\$,d" "$file" ;;
  esac
done
"""
# What remove-agreed.sh has, for the files of the world: all that a step left is agreed on.
AGREED_SOURCES = """
is_agreed() { [ "$1" = remove ] && [ -e "$2" ]; }
drop() { rm -f "$@"; }
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name in ("bin", "etc/firewalld/policies", "etc/firewalld/zones"):
        (tmp_path / name).mkdir(parents=True)
    programs = {"firewall-cmd": FIREWALL_CMD, "systemctl": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in ("now", "stored"):
        (tmp_path / name).write_text("")
    return tmp_path


def is_changed(outcome: str) -> bool:
    return outcome == "changed"


def play(world: Path, template: str) -> None:
    templates = locate_playbooks() / "roles" / "firewall" / "templates"
    source = Environment(loader=FileSystemLoader(templates), autoescape=False)
    source.tests["changed"] = is_changed
    text = source.get_template(template).render(
        firewall_pod_cidr=PODS, lookup=lambda _, name: AGREED_SOURCES if name == "remove-agreed.sh" else ""
    )
    text = text.replace("/etc/", f"{world}/etc/").replace("PATH=", f"PATH={world}/bin:")
    process = subprocess.run(
        ["sh"], input=text, env={"WORLD": str(world), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


def read_sources(world: Path) -> tuple[str, str]:
    return (world / "now").read_text(), (world / "stored").read_text()


def test_a_source_that_gpustack_added_goes(world: Path) -> None:
    play(world, "firewalld.sh.j2")
    assert read_sources(world) == (f"{PODS}\n", f"{PODS}\n")
    play(world, "firewalld.sh.j2")
    (world / POLICY[1:]).write_text(f'<destination address="{PODS}"/>\n')
    play(world, "reset-firewalld.sh.j2")
    assert read_sources(world) == ("", "")
    assert not (world / SOURCE_NOTE[1:]).exists()


def test_a_source_that_the_operator_had_added_stays(world: Path) -> None:
    for name in ("now", "stored"):
        (world / name).write_text(f"{PODS}\n")
    play(world, "firewalld.sh.j2")
    (world / POLICY[1:]).write_text(f'<destination address="{PODS}"/>\n')
    play(world, "reset-firewalld.sh.j2")
    assert read_sources(world) == (f"{PODS}\n", f"{PODS}\n")


def test_files_of_ours_go_without_the_package_of_firewalld(world: Path) -> None:
    play(world, "firewalld.sh.j2")
    (world / POLICY[1:]).write_text(f'<destination address="{PODS}"/>\n')
    (world / "bin/firewall-cmd").unlink()
    play(world, "reset-firewalld.sh.j2")
    assert [path for path in (world / "etc").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("noted", [True, False])
def test_the_source_is_shown_as_what_it_is(noted: bool) -> None:
    things = [(POLICY, "file"), *([(SOURCE_NOTE, "file")] if noted else [])]
    answers = {
        "owned.firewall": f"source {PODS} of firewalld's zone trusted\n",
        "owned.records": render_records(*things),
    }
    (three,) = judge_removal(build_snapshot({"k3": answers}), ["k3"]).hosts
    named_source = f"source {PODS} of firewalld's zone trusted"
    assert (named_source in [str(trace) for _, traces in three.traces for trace in traces]) is noted
    assert (f"{named_source}: gpustack has no record of it" in three.kept_resources) is not noted

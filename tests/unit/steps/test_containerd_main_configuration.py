"""/etc/containerd/config.toml: what the role writes into it, and what the reset takes out again."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.probes.containerd.daemon import list_versioned_names
from gpustack.steps.containerd.files import CRI, IMPORTS, VERSION

ROLE = locate_playbooks() / "roles" / "containerd"


def edit_text(text: str) -> str:
    """Edit config.toml as ansible.builtin.replace does: each expression with MULTILINE, in order."""
    variables: dict[str, Any] = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    for edit in variables["containerd_main_configuration"]:
        text = re.sub(edit["regexp"], edit["replace"], text, flags=re.MULTILINE)
    return text


# As docker/containerd-packaging has it in common/containerd.toml, without its licence's words.
PACKAGED_FILE = """#   Copyright 2018-2022 Docker Inc.

disabled_plugins = ["cri"]

#root = "/var/lib/containerd"
#state = "/run/containerd"

#[grpc]
#  address = "/run/containerd/containerd.sock"
"""
MAIN = {
    "package": PACKAGED_FILE,
    "short names": 'disabled_plugins = ["cri", "zfs"]\n',
    "required": 'required_plugins = [\n  "cri",\n]\n',
    "minimal": "version = 3\n",
    "empty": "",
    "vendor": '# comment\n\ndisabled_plugins = ["cri"]\n\n#root = "/var/lib/containerd"\n[grpc]\n  gid = 0\n',
    "several": 'disabled_plugins = ["io.containerd.snapshotter.v1.zfs", "cri", "x"]\nroot = "/data"\n',
    "both": "disabled_plugins = ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'y']\n",
    "lines": 'disabled_plugins = [\n  "cri",\n  "io.containerd.internal.v1.opt",\n]\n[plugins]\n',
    "imports": 'imports = ["/etc/containerd/site/*.toml"]\nversion = 3\n[plugins."x"]\n  imports_like = 1\n',
    "no imports yet": 'version = 2\nimports = []\n[plugins."io.containerd.grpc.v1.cri".cni]\n  bin_dir = "/x"\n',
    "version 2 alone": 'version = 2   # of 1.7\nroot = "/data"\n[debug]\n  level = "info"\n',
    "version 2 in a table": "[proxy_plugins.x]\n  version = 2\n",
    "version 1, short names": 'version = 1\ndisabled_plugins = ["cri", "zfs"]\n',
    "inline plugins": 'plugins = {"io.containerd.grpc.v1.cri" = {sandbox_image = "x"}}\n',
    "dotted plugins": 'version = 2\nplugins."io.containerd.grpc.v1.cri".sandbox_image = "x"\n',
    "whole names": 'required_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri"]\n',
    "version 4": 'version = 4\n[plugins."io.containerd.cri.v1.images"]\n  snapshotter = "x"\n',
    "ours": 'imports = ["/etc/containerd/conf.d/*.toml"]\nversion = 3\ndisabled_plugins = []\n',
    "only ours": 'version = 3\nimports = ["/etc/containerd/conf.d/gpustack.toml"]\n',
}


@pytest.mark.parametrize("text", MAIN.values(), ids=MAIN.keys())
def test_the_role_touches_three_keys_only(text: str) -> None:
    before, after = tomllib.loads(text), tomllib.loads(edit_text(text))
    assert IMPORTS & set(after["imports"])
    assert set(before.get("imports", [])) <= set(after["imports"])
    disabled_plugins = before.get("disabled_plugins", [])
    assert after.get("disabled_plugins", []) == [name for name in disabled_plugins if name not in CRI]
    own_keys = {"imports", "disabled_plugins", "version"}
    assert {k: v for k, v in after.items() if k not in own_keys} == {
        k: v for k, v in before.items() if k not in own_keys
    }
    assert all(line in edit_text(text) for line in text.splitlines() if line.startswith("#"))
    if before.get("version", 0) < VERSION and not list(list_versioned_names(before)) and "[proxy" not in text:
        assert after["version"] == VERSION
    else:
        assert after.get("version") == before.get("version")


@pytest.mark.parametrize("text", MAIN.values(), ids=MAIN.keys())
def test_what_depends_on_an_older_version_is_refused_before_anything_is_changed(text: str, tmp_path: Path) -> None:
    """The check and the script of the role agree."""
    (tmp_path / "config.toml").write_text(text)
    script = ["sh", str(ROLE / "files" / "root-version.sh")]
    env = {"PATH": os.environ["PATH"], "FILE": str(tmp_path / "config.toml")}
    process = subprocess.run(script, capture_output=True, text=True, env=env, timeout=20, check=False)
    document = tomllib.loads(text)
    is_refused = document.get("version", 0) < VERSION and bool(list(list_versioned_names(document)))
    assert process.returncode == (1 if is_refused else 0), process.stderr
    assert process.stderr.endswith("(gpustack explain containerd-root-version)\n") is is_refused


def test_no_main_configuration_is_refused_for_none() -> None:
    script = ["sh", str(ROLE / "files" / "root-version.sh")]
    env = {"PATH": os.environ["PATH"], "FILE": "/nonexistent/config.toml"}
    assert subprocess.run(script, capture_output=True, env=env, timeout=20, check=False).returncode == 0


def test_the_record_knows_every_edit() -> None:
    """The record edits the kept copy once more, to see whether somebody else has changed the file meanwhile."""
    variables: dict[str, Any] = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    (edit, *_) = variables["containerd_edits"]
    assert (edit["paths"], edit["edits"]) == (["/etc/containerd/config.toml"], "{{ containerd_main_configuration }}")
    layout = (ROLE / "files" / "layout.sh").read_text()
    assert f"echo '{edit['created'].strip()}' >config.toml" in layout


def restore_text(text: str, before: str) -> str:
    """Restore a config.toml that was changed after us, where `before` is the copy that was kept."""
    variables: dict[str, Any] = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    for edit in variables["containerd_import_undone"]:
        regexp = edit["regexp"]
        if "containerd_nowhere" in regexp:
            regexp = variables["containerd_nowhere" if "version" in before else "containerd_version_said"]
        text = re.sub(regexp, edit["replace"], text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize(
    ("text", "before", "remainder"),
    [
        # As the toolkit leaves it, seen on a lab host: its keys in alphabetical order, and no comments.
        ('disabled_plugins = []\nimports = ["/etc/containerd/conf.d/*.toml"]\nversion = 3\n', PACKAGED_FILE,
         {"disabled_plugins": []}),
        ('imports = ["/etc/containerd/conf.d/*.toml"]\nroot = "/data"\nversion = 3\n', "version = 3\n",
         {"root": "/data", "version": 3}),
        ('imports = ["/etc/containerd/site/*.toml", "/etc/containerd/conf.d/*.toml"]\nversion = 3\n', MAIN["imports"],
         {"imports": ["/etc/containerd/site/*.toml"], "version": 3}),
        ('imports = ["/etc/containerd/conf.d/*.toml", "/etc/containerd/site/*.toml"]\nversion = 3\n', MAIN["imports"],
         {"imports": ["/etc/containerd/site/*.toml"], "version": 3}),
    ],
    ids=["the toolkit", "another key", "behind others", "before others"],
)  # fmt: skip
def test_the_reset_takes_out_our_words_where_somebody_wrote_the_file_anew(
    text: str, before: str, remainder: dict[str, Any]
) -> None:
    assert tomllib.loads(restore_text(text, before)) == remainder


def test_the_file_of_the_package_says_its_version() -> None:
    """nvidia-ctk takes a file without one for version 1, and adds tables of that."""
    assert tomllib.loads(edit_text(PACKAGED_FILE)) == {
        "version": 3, "imports": ["/etc/containerd/conf.d/*.toml"], "disabled_plugins": [],
    }  # fmt: skip


@pytest.mark.parametrize("text", MAIN.values(), ids=MAIN.keys())
def test_the_second_run_changes_nothing(text: str) -> None:
    assert edit_text(edit_text(text)) == edit_text(text)

"""/etc/containerd/config.toml: what the role writes into it, and what the reset takes out again."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.steps.containerd.files import CRI, IMPORTS

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
    assert after.get("version") == before.get("version", 3 if text in ("", PACKAGED_FILE) else None)


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

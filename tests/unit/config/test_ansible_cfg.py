"""The ansible.cfg in force, as Ansible finds and reads it."""

import os
from pathlib import Path

import pytest

from gpustack.config.ansible import cfg as module
from gpustack.config.ansible.cfg import build_environment, explain_disregard, find_cfg_file, read_ansible_cfg
from gpustack.errors import ConfigError
from tests.unit.config.foreign_files import give_away


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def test_the_environment_then_the_folder_then_home(here: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".ansible.cfg").write_text("")
    assert find_cfg_file(home, here) == tmp_path / ".ansible.cfg"
    (here / "ansible.cfg").write_text("")
    assert find_cfg_file(home, here) == here / "ansible.cfg"
    assert find_cfg_file(home | {"ANSIBLE_CONFIG": "/x/y.cfg"}, here) == Path("/x/y.cfg")
    assert find_cfg_file(home | {"ANSIBLE_CONFIG": str(tmp_path)}, here) == tmp_path / "ansible.cfg"


def test_a_folder_that_all_may_write_to_does_not_count(here: Path, tmp_path: Path) -> None:
    (here / "ansible.cfg").write_text("")
    here.chmod(0o777)
    home = {"HOME": str(tmp_path)}
    assert find_cfg_file(home, here) != here / "ansible.cfg"
    text = f"{here}/ansible.cfg is in a folder that all users may write to and does not count"
    assert explain_disregard(home, here) == text


def test_a_file_that_all_may_write_does_not_count(here: Path, tmp_path: Path) -> None:
    (here / "ansible.cfg").write_text("[defaults]\ninventory = theirs.sh\n")
    (here / "ansible.cfg").chmod(0o666)
    home = {"HOME": str(tmp_path)}
    assert find_cfg_file(home, here) != here / "ansible.cfg"
    assert explain_disregard(home, here) == f"{here}/ansible.cfg may be written by all users and does not count"
    (here / "ansible.cfg").chmod(0o664)
    assert (find_cfg_file(home, here), explain_disregard(home, here)) == (here / "ansible.cfg", "")


def test_one_of_somebody_else_does_not_count(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names programs that are run: whoever puts it into a folder that others work in would be them."""
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".ansible.cfg").write_text("")
    (here / "ansible.cfg").write_text("[defaults]\ninventory = theirs.sh\n")
    assert explain_disregard(home, here) == ""
    give_away(here / "ansible.cfg", monkeypatch)
    assert find_cfg_file(home, here) == tmp_path / ".ansible.cfg"
    assert read_ansible_cfg(home, here).inventory == ""
    assert explain_disregard(home, here) == f"{here}/ansible.cfg belongs to user 12345 and does not count"
    named = home | {"ANSIBLE_CONFIG": str(here / "ansible.cfg")}
    assert (find_cfg_file(named, here), explain_disregard(named, here)) == (here / "ansible.cfg", "")


def test_a_link_of_somebody_else_does_not_count(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is relative to where the link is."""
    (tmp_path / "own.cfg").write_text("[defaults]\ninventory = hosts\n")
    (here / "ansible.cfg").symlink_to(tmp_path / "own.cfg")
    assert find_cfg_file({"HOME": str(tmp_path)}, here) == here / "ansible.cfg"
    give_away(here / "ansible.cfg", monkeypatch)
    assert find_cfg_file({"HOME": str(tmp_path)}, here) != here / "ansible.cfg"


def test_behind_sudo_it_may_be_of_who_called_it(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "ansible.cfg").write_text("")
    give_away(here / "ansible.cfg", monkeypatch)
    owner = (here / "ansible.cfg").stat().st_uid
    home = {"HOME": str(tmp_path), "SUDO_UID": str(owner)}
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert find_cfg_file(home, here) == here / "ansible.cfg"
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert find_cfg_file(home, here) != here / "ansible.cfg"


def test_ansible_gets_the_one_that_counts(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left alone it looks for one itself."""
    home = {"HOME": str(tmp_path)}
    (here / "ansible.cfg").write_text("")
    assert build_environment(home, here) == {"ANSIBLE_CONFIG": str(here / "ansible.cfg")}
    give_away(here / "ansible.cfg", monkeypatch)
    for env in (home, home | {"ANSIBLE_CONFIG": "/nowhere/x.cfg"}):
        path = Path(build_environment(env, here)["ANSIBLE_CONFIG"])
        assert path.is_file()
        assert path in (Path("/etc/ansible/ansible.cfg"), Path(module.__file__).with_name("empty.cfg"))


def test_what_is_read(here: Path, tmp_path: Path) -> None:
    (here / "ansible.cfg").write_text(
        "[defaults]\ninventory = inv\nremote_user=ops\nremote_port = 2200\nprivate_key_file = keys/one\n"
        "[ssh_connection]\nssh_args = -o A=%h\nssh_extra_args = -4\n[privilege_escalation]\nbecome_method = doas\n"
    )
    found = read_ansible_cfg({"HOME": str(tmp_path)}, here)
    assert (found.inventory, found.private_key_file) == (str(here / "inv"), str(here / "keys/one"))
    assert (found.remote_user, found.remote_port, found.become_method) == ("ops", "2200", "doas")
    assert found.ssh_args == "-o A=%h -4"


def test_the_environment_counts_before_the_file(here: Path, tmp_path: Path) -> None:
    (here / "ansible.cfg").write_text("[defaults]\nremote_user=ops\ninventory=a\n")
    env = {"HOME": str(tmp_path), "ANSIBLE_REMOTE_USER": "root", "ANSIBLE_INVENTORY": "b", "ANSIBLE_SSH_ARGS": "-C"}
    found = read_ansible_cfg(env, here)
    assert (found.remote_user, found.inventory, found.ssh_args) == ("root", "b", "-C")


@pytest.mark.parametrize(
    ("env", "lines", "exe"),
    [
        ({}, "become_exe = one\n[sudo_become_plugin]\nexecutable = two", "two"),
        ({"ANSIBLE_BECOME_EXE": "three"}, "become_exe = one\n[sudo_become_plugin]\nexecutable = two", "three"),
        ({"ANSIBLE_BECOME_EXE": "three", "ANSIBLE_SUDO_EXE": "four"}, "", "four"),
        ({}, "become_exe = one", "one"),
    ],
)
def test_which_sudo_counts(here: Path, tmp_path: Path, env: dict[str, str], lines: str, exe: str) -> None:
    """As ansible-core 2.19.14 did with these."""
    (here / "ansible.cfg").write_text(f"[privilege_escalation]\n{lines}\n")
    assert read_ansible_cfg({"HOME": str(tmp_path)} | env, here).become_exe == exe


@pytest.mark.parametrize("text", ["remote_user = ops\n", "[defaults\n", "[defaults]\nno value\n"])
def test_a_file_that_is_none(here: Path, tmp_path: Path, text: str) -> None:
    (here / "ansible.cfg").write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_ansible_cfg({"HOME": str(tmp_path)}, here)
    assert raised.value.reference == "ansible-cfg-unreadable"

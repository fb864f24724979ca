"""The ansible.cfg in force, as Ansible finds and reads it."""

import os
from pathlib import Path

import pytest

from gpustack.config.ansible import cfg as module
from gpustack.config.ansible.cfg import build_environment, explain_disregard, find_cfg_file, read_ansible_cfg
from gpustack.errors import ConfigError
from tests.unit.config.foreign_files import give_away


@pytest.fixture
def current_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def test_the_environment_counts_then_the_folder_then_home(current_folder: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".ansible.cfg").write_text("")
    assert find_cfg_file(home, current_folder) == tmp_path / ".ansible.cfg"
    (current_folder / "ansible.cfg").write_text("")
    assert find_cfg_file(home, current_folder) == current_folder / "ansible.cfg"
    assert find_cfg_file(home | {"ANSIBLE_CONFIG": "/x/y.cfg"}, current_folder) == Path("/x/y.cfg")
    assert find_cfg_file(home | {"ANSIBLE_CONFIG": str(tmp_path)}, current_folder) == tmp_path / "ansible.cfg"


def test_a_folder_that_all_may_write_to_does_not_count(current_folder: Path, tmp_path: Path) -> None:
    (current_folder / "ansible.cfg").write_text("")
    current_folder.chmod(0o777)
    home = {"HOME": str(tmp_path)}
    assert find_cfg_file(home, current_folder) != current_folder / "ansible.cfg"
    text = f"{current_folder}/ansible.cfg is in a directory that all users may write to and does not count"
    assert explain_disregard(home, current_folder) == text


def test_a_file_that_all_may_write_does_not_count(current_folder: Path, tmp_path: Path) -> None:
    (current_folder / "ansible.cfg").write_text("[defaults]\ninventory = theirs.sh\n")
    (current_folder / "ansible.cfg").chmod(0o666)
    home = {"HOME": str(tmp_path)}
    assert find_cfg_file(home, current_folder) != current_folder / "ansible.cfg"
    assert (
        explain_disregard(home, current_folder)
        == f"{current_folder}/ansible.cfg may be written by all users and does not count"
    )
    (current_folder / "ansible.cfg").chmod(0o664)
    assert (find_cfg_file(home, current_folder), explain_disregard(home, current_folder)) == (
        current_folder / "ansible.cfg",
        "",
    )


def test_a_file_of_somebody_else_does_not_count(
    current_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file names programs that are run: whoever puts it into a folder that others work in would act as them."""
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".ansible.cfg").write_text("")
    (current_folder / "ansible.cfg").write_text("[defaults]\ninventory = theirs.sh\n")
    assert explain_disregard(home, current_folder) == ""
    give_away(current_folder / "ansible.cfg", monkeypatch)
    assert find_cfg_file(home, current_folder) == tmp_path / ".ansible.cfg"
    assert read_ansible_cfg(home, current_folder).inventory == ""
    assert (
        explain_disregard(home, current_folder)
        == f"{current_folder}/ansible.cfg belongs to user 12345 and does not count"
    )
    named_env = home | {"ANSIBLE_CONFIG": str(current_folder / "ansible.cfg")}
    assert (find_cfg_file(named_env, current_folder), explain_disregard(named_env, current_folder)) == (
        current_folder / "ansible.cfg",
        "",
    )


def test_a_link_of_somebody_else_does_not_count(
    current_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings behind a link are relative to where the link is."""
    (tmp_path / "own.cfg").write_text("[defaults]\ninventory = hosts\n")
    (current_folder / "ansible.cfg").symlink_to(tmp_path / "own.cfg")
    assert find_cfg_file({"HOME": str(tmp_path)}, current_folder) == current_folder / "ansible.cfg"
    give_away(current_folder / "ansible.cfg", monkeypatch)
    assert find_cfg_file({"HOME": str(tmp_path)}, current_folder) != current_folder / "ansible.cfg"


def test_behind_sudo_it_may_be_of_who_called_it(
    current_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (current_folder / "ansible.cfg").write_text("")
    give_away(current_folder / "ansible.cfg", monkeypatch)
    owner = (current_folder / "ansible.cfg").stat().st_uid
    home = {"HOME": str(tmp_path), "SUDO_UID": str(owner)}
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert find_cfg_file(home, current_folder) == current_folder / "ansible.cfg"
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert find_cfg_file(home, current_folder) != current_folder / "ansible.cfg"


def test_ansible_gets_the_one_that_counts(
    current_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left alone it looks for one itself."""
    home = {"HOME": str(tmp_path)}
    (current_folder / "ansible.cfg").write_text("")
    assert build_environment(home, current_folder)["ANSIBLE_CONFIG"] == str(current_folder / "ansible.cfg")
    give_away(current_folder / "ansible.cfg", monkeypatch)
    for env in (home, home | {"ANSIBLE_CONFIG": "/nowhere/x.cfg"}):
        path = Path(build_environment(env, current_folder)["ANSIBLE_CONFIG"])
        assert path.is_file()
        assert path in (Path("/etc/ansible/ansible.cfg"), Path(module.__file__).with_name("empty.cfg"))


def test_settings_of_ssh_and_sudo_are_read(current_folder: Path, tmp_path: Path) -> None:
    (current_folder / "ansible.cfg").write_text(
        "[defaults]\ninventory = inv\nremote_user=ops\nremote_port = 2200\nprivate_key_file = keys/one\n"
        "[ssh_connection]\nssh_args = -o A=%h\nssh_extra_args = -4\n[privilege_escalation]\nbecome_method = doas\n"
    )
    configuration = read_ansible_cfg({"HOME": str(tmp_path)}, current_folder)
    assert (configuration.inventory, configuration.private_key_file) == (
        str(current_folder / "inv"),
        str(current_folder / "keys/one"),
    )
    assert (configuration.remote_user, configuration.remote_port, configuration.become_method) == (
        "ops",
        "2200",
        "doas",
    )
    assert configuration.ssh_args == "-o A=%h -4"


def test_the_environment_counts_before_the_file(current_folder: Path, tmp_path: Path) -> None:
    (current_folder / "ansible.cfg").write_text("[defaults]\nremote_user=ops\ninventory=a\n")
    env = {"HOME": str(tmp_path), "ANSIBLE_REMOTE_USER": "root", "ANSIBLE_INVENTORY": "b", "ANSIBLE_SSH_ARGS": "-C"}
    configuration = read_ansible_cfg(env, current_folder)
    assert (configuration.remote_user, configuration.inventory, configuration.ssh_args) == ("root", "b", "-C")


@pytest.mark.parametrize(
    ("env", "lines", "exe"),
    [
        ({}, "become_exe = one\n[sudo_become_plugin]\nexecutable = two", "two"),
        ({"ANSIBLE_BECOME_EXE": "three"}, "become_exe = one\n[sudo_become_plugin]\nexecutable = two", "three"),
        ({"ANSIBLE_BECOME_EXE": "three", "ANSIBLE_SUDO_EXE": "four"}, "", "four"),
        ({}, "become_exe = one", "one"),
    ],
)
def test_the_environment_counts_before_both_sudo_settings(
    current_folder: Path, tmp_path: Path, env: dict[str, str], lines: str, exe: str
) -> None:
    """The cases are as ansible-core 2.19.14 did with them."""
    (current_folder / "ansible.cfg").write_text(f"[privilege_escalation]\n{lines}\n")
    assert read_ansible_cfg({"HOME": str(tmp_path)} | env, current_folder).become_exe == exe


@pytest.mark.parametrize("text", ["remote_user = ops\n", "[defaults\n", "[defaults]\nno value\n"])
def test_a_file_that_is_no_ini_is_refused(current_folder: Path, tmp_path: Path, text: str) -> None:
    (current_folder / "ansible.cfg").write_text(text)
    with pytest.raises(ConfigError) as excinfo:
        read_ansible_cfg({"HOME": str(tmp_path)}, current_folder)
    assert excinfo.value.reference == "ansible-cfg-unreadable"

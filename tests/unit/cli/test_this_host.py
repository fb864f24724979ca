"""A change without an inventory wants this host's name: typed, or --this-host where nobody can type."""

import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask import gather as gathering
from gpustack.cli.app import app
from gpustack.config import inventory as reading
from gpustack.config.ansible import cfg
from gpustack.errors import GpustackError
from gpustack.rollout.private_folder import PREFIX

# Every way to change something, without --yes where it has one.
CHANGING = (["install"], ["reset"], ["prove"], ["alerts", "test"], ["doctor", "--fix"], ["doctor", "--undo"])
AGREED_COMMANDS = (
    *(["install", "-y"], ["reset", "--yes"], ["doctor", "--fix", "--yes"], ["doctor", "--undo", "--yes"]),
    *(["remediate", "node-1", "--yes"], ["care", "--yes"]),
)
changing = pytest.mark.parametrize("words", CHANGING, ids=" ".join)
NAME = "gpu1"
pytestmark = pytest.mark.usefixtures("shared_listings")
COMMANDS = [command.callback for command in app.registered_commands if command.callback]


class HostsAsked(Exception):
    """The command went on to ask the host."""


@pytest.fixture(autouse=True)
def nothing_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_INVENTORY", "GPUSTACK_INVENTORY", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "spec.yml"
    (tmp_path / "hook.txt").touch(mode=0o600)
    (tmp_path / "hook.txt").write_text("https://hook.example.com/x\n")
    receiver = f"{{type: webhook, secret_file: {tmp_path / 'hook.txt'}}}"
    spec.write_text(f"gpustack: {{alerts: {{receivers: {{default: [{receiver}]}}}}}}\n")
    monkeypatch.setattr(reading, "LOCAL_SPEC", spec)
    monkeypatch.setattr("socket.gethostname", lambda: NAME)

    def gather(*_: Any, **__: Any) -> Any:
        raise HostsAsked

    monkeypatch.setattr(gathering, "gather", gather)
    monkeypatch.setattr("gpustack.nodes.drain_plan.gather", gather)
    monkeypatch.setattr("gpustack.cli.fix.run_undo", gather)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def expect_refusal(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


@pytest.mark.parametrize("words", [*CHANGING, *AGREED_COMMANDS], ids=" ".join)
def test_without_a_terminal_it_has_to_be_given(words: Sequence[str]) -> None:
    error = expect_refusal(*words)
    assert (error.reference, error.code) == ("this-host", 2)
    assert NAME in error.reason
    assert "--this-host" in error.hint


@pytest.mark.parametrize("words", [["plan"], ["install", "-y"], ["reset", "--yes"]], ids=" ".join)
@pytest.mark.parametrize("inventory", ["", "  "])
def test_an_inventory_of_nothing_is_not_the_current_folder(
    words: Sequence[str], inventory: str, tmp_path: Path
) -> None:
    (tmp_path / "hosts.ini").write_text("[kube_control_plane]\nkube1\n[kube_node]\nkube1\n")
    error = expect_refusal(*words, "-i", inventory)
    assert (error.reference, error.code) == ("choice-empty", 2)
    assert "-i is empty" in error.message


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--limit"],
        ["plan", "--only"],
        ["install", "-y", "--only"],
        ["reset", "--yes", "--limit"],
        ["prove", "--limit"],
        ["doctor", "--fix", "--yes", "--yes-to"],
        ["doctor", "--fix", "--yes"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("choice", ["", ","])
def test_a_choice_of_nothing_is_not_all(words: Sequence[str], choice: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[kube_control_plane]\nkube1\n[kube_node]\nkube1\n")
    error = expect_refusal(*words, choice, "-i", str(tmp_path / "hosts.ini"))
    assert (error.reference, error.code) == ("choice-empty", 2)


def test_a_variable_of_blanks_names_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSTACK_INVENTORY", " ")
    error = expect_refusal("plan")
    assert (error.reference, error.code) == ("inventory-empty", 2)


def test_the_current_folder_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path / "site")
    Path("hosts.ini").write_text("[kube_control_plane]\nkube1\n[kube_node]\nkube1\n")
    assert isinstance(run("plan", "-i", ".").exception, HostsAsked)


@changing
def test_every_change_removes_what_a_killed_one_left(
    words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    (memory / f"{PREFIX}killed").mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(memory))
    assert isinstance(run(*words, "--this-host").exception, HostsAsked)
    assert list(memory.iterdir()) == []


class Terminal:
    def __init__(self, text: str) -> None:
        self.typed_text = text

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.typed_text


def type_answer(monkeypatch: pytest.MonkeyPatch, text: str, *words: str) -> BaseException:
    monkeypatch.setattr(sys, "stdin", Terminal(text))
    with pytest.raises((GpustackError, HostsAsked, SystemExit)) as excinfo:
        app(list(words))
    return excinfo.value


@changing
@pytest.mark.parametrize("text", ["", "\n", "y\n", "yes\n", "gpu\n", "gpu1.example.com\n"])
def test_anything_but_the_name_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, words: Sequence[str], text: str
) -> None:
    error = type_answer(monkeypatch, text, *words)
    assert isinstance(error, GpustackError)
    assert (error.reference, error.code) == ("this-host", 5)


@changing
def test_the_name_or_the_option_goes_on(monkeypatch: pytest.MonkeyPatch, words: Sequence[str]) -> None:
    assert has_continued(type_answer(monkeypatch, f"{NAME}\n", *words))
    assert has_continued(run(*words, "--this-host").exception)


def has_continued(error: BaseException | None) -> bool:
    return isinstance(error, HostsAsked) or (isinstance(error, GpustackError) and error.reference != "this-host")


@pytest.mark.parametrize("words", AGREED_COMMANDS, ids=" ".join)
def test_a_yes_is_no_name(monkeypatch: pytest.MonkeyPatch, words: Sequence[str]) -> None:
    error = type_answer(monkeypatch, f"{NAME}\n", *words)
    assert isinstance(error, GpustackError)
    assert (error.reference, error.code) == ("this-host", 2)
    assert has_continued(run(*words, "--this-host").exception)


@pytest.mark.parametrize("words", [["plan"], ["verify"], ["doctor"], ["snapshot", "--list"]], ids=" ".join)
def test_looking_asks_for_no_name(words: Sequence[str]) -> None:
    result = run(*words)
    assert isinstance(result.exception, HostsAsked), result.exception
    assert f"this host ({NAME}), as a one-node cluster" in result.stderr
    assert "no inventory is named by -i, GPUSTACK_INVENTORY or an ansible.cfg" in result.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    hosts = "kube_control_plane: {hosts: {h1: {ansible_host: 192.0.2.1}}}\nkube_node: {hosts: {h1: {}}}\n"
    (tmp_path / "site.yml").write_text(hosts)
    return tmp_path / "site.yml"


@changing
def test_with_an_inventory_no_name_is_asked_for(site: Path, words: Sequence[str]) -> None:
    assert has_continued(run(*words, "-i", str(site)).exception)
    error = expect_refusal(*words, "--this-host", "-i", str(site))
    assert (error.reference, error.code) == ("this-host", 2)
    assert str(site) in error.reason


def test_the_first_line_says_who_named_the_inventory(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"1 host of inventory {site}\n" in run("plan", "-i", str(site)).stderr
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\ninventory = {site}\n")
    assert f"1 host of inventory {site}, named by {tmp_path}/ansible.cfg\n" in run("plan").stderr
    monkeypatch.setenv("ANSIBLE_INVENTORY", str(site))
    assert f"1 host of inventory {site}, named by ANSIBLE_INVENTORY\n" in run("plan").stderr
    monkeypatch.setenv("GPUSTACK_INVENTORY", str(site))
    assert f"1 host of inventory {site}, named by GPUSTACK_INVENTORY\n" in run("plan").stderr


def test_an_ansible_cfg_that_does_not_count_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cfg, "explain_disregard", lambda: "x/ansible.cfg belongs to user 5 and does not count")
    assert "x/ansible.cfg belongs to user 5 and does not count\n" in run("plan").stderr


def test_every_command_that_can_be_agreed_to_takes_the_option() -> None:
    """So that a new one is not forgotten; the table above names those that ask for no yes. `trust` changes no host."""
    options_by_command = {command.__name__: set(signature(command).parameters) for command in COMMANDS}
    confirmed_commands = {name for name, options in options_by_command.items() if "yes" in options} - {"trust"}
    assert confirmed_commands == {words[0] for words in AGREED_COMMANDS}
    assert confirmed_commands <= {name for name, options in options_by_command.items() if "this_host" in options}

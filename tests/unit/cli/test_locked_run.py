"""A run that changes hosts hands Ansible a password of one host for that host alone."""

import threading
from dataclasses import replace
from io import StringIO
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ansible_runner
import pytest

from gpustack.cli import error_handler, session
from gpustack.config import inventory as reading
from gpustack.config.inventory import Inventory, load_inventory
from gpustack.errors import VerifyError
from gpustack.events import ignore_event
from gpustack.rollout.preview import preview
from gpustack.rollout.run import Run
from gpustack.steps import STEPS
from tests.worlds.snapshots.reset_hosts import INVENTORY, build_snapshot

PLANE, *OTHER_HOSTS = INVENTORY.hosts
OF_THE_PLANE = replace(INVENTORY, hosts=(replace(PLANE, become_password="of the plane only"), *OTHER_HOSTS))
TYPED_INVENTORY = replace(INVENTORY, typed_password="typed")


@pytest.fixture
def passwords(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, Any]]:
    """Pairs for each play: whether Ansible is to ask for a password, and what it is answered."""
    results: list[tuple[bool, Any]] = []

    def run(**settings: Any) -> SimpleNamespace:
        results.append(("--ask-become-pass" in settings["cmdline"], settings.get("passwords")))
        return SimpleNamespace(stdout=StringIO(), rc=0)

    monkeypatch.setattr(ansible_runner, "run", run)
    return results


def run_preview(inventory: Inventory, folder: Path, run_id: str = "") -> None:
    lock: Any = SimpleNamespace(loss_reason="", run=run_id, expiry=inf)
    run = Run(inventory, folder, ignore_event, folder, threading.Event(), lock)
    before = replace(build_snapshot(), inventory=inventory)
    run.play("prereqs", ["k2"], before)
    run.preview("prereqs", ["k2"], before, {})
    state: Any = SimpleNamespace(step="prereqs", location="k2")
    preparation: Any = SimpleNamespace(inventory=inventory, snapshot=before, drifted_states=[state])
    preview(preparation, STEPS, ignore_event)


def test_what_one_host_has_in_the_inventory_is_offered_to_no_other(tmp_path: Path, passwords: list[Any]) -> None:
    """Ansible reads the inventory's passwords itself, each for its own host. A host that was broken into would
    collect what is answered at its prompt."""
    run_preview(OF_THE_PLANE, tmp_path)
    assert passwords == [(False, None)] * 3


def test_a_play_is_given_the_id_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first task of a play compares it with the note beside the lock. A look from outside of a run has none, and
    what an inventory says of it is overruled."""
    lines: list[str] = []

    def run(**settings: Any) -> SimpleNamespace:
        lines.append(settings["cmdline"])
        return SimpleNamespace(stdout=StringIO(), rc=0)

    monkeypatch.setattr(ansible_runner, "run", run)
    run_preview(INVENTORY, tmp_path, "a" * 16)
    assert [f"--extra-vars gpustack_run={'a' * 16}" in line for line in lines] == [True, True, False]
    assert ["--check" in line for line in lines] == [False, True, True], "and these need no lock"


def test_a_typed_one_is_handed_on(tmp_path: Path, passwords: list[Any]) -> None:
    run_preview(TYPED_INVENTORY, tmp_path)
    assert [(is_asked, *answers.values()) for is_asked, answers in passwords] == [(True, "typed")] * 3


def test_without_an_inventory_this_hosts_own_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible reads nothing of /etc/gpustack-cluster/gpustack.yml."""
    spec = tmp_path / "gpustack.yml"
    spec.write_text("ansible_become_password: own\n")
    monkeypatch.setattr(reading, "LOCAL_SPEC", spec)
    monkeypatch.setattr(reading, "select_inventory", lambda _: None)
    assert load_inventory(None).typed_password == "own"
    assert "own" not in repr(load_inventory(None).hosts[0])


def test_an_inventory_hands_on_no_password_of_its_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hosts.yml"
    path.write_text("kube_control_plane: {hosts: {h1: {ansible_become_password: own}}}\nkube_node: {hosts: {h2: {}}}\n")
    assert load_inventory(path).typed_password is None
    assert load_inventory(path, become_password="typed").typed_password == "typed"


@pytest.mark.parametrize("error", [VerifyError("still-differs", "h1 said figleaf"), ValueError("figleaf")])
def test_no_error_of_a_run_says_a_password_that_is_known(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(error_handler, "known_secrets", [])
    path = tmp_path / "hosts.yml"
    hosts = "{hosts: {h1: {ansible_become_password: figleaf}}}"
    path.write_text(f"kube_control_plane: {hosts}\nkube_node: {hosts}\n")
    session.open_inventory(path, ask_password=False, quiet=True)
    with pytest.raises(SystemExit), error_handler.report_errors():
        raise error
    assert "figleaf" not in capsys.readouterr().err
    assert [file for file in (tmp_path / "gpustack").glob("*.txt") if "figleaf" in file.read_text()] == []

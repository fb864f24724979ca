"""The runner's events become results, and Ansible gets its environment and the way to hosts."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpustack.events import Event, ignore_event
from gpustack.rollout import playbook
from gpustack.rollout.playbook import ALIVE, Ansible, Tally, build_run_environment, play
from gpustack.steps import STEPS


def test_a_task_that_is_tried_again_says_why() -> None:
    events: list[Event] = []
    values = {"stdout": "", "stderr": "apt is locked by process 12: apt-get upgrade\n", "rc": 75}
    data = {"host": "h1", "task": "Ensure it", "res": values}
    Tally(events.append, "prereqs").record_event({"event": "runner_retry", "event_data": data})
    assert events == [Event("waiting", "prereqs", "h1: apt is locked by process 12: apt-get upgrade")]


def test_memory_that_runs_full_fails_the_hosts_and_raises_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_memory(*_: Any) -> tuple[str, int]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(playbook, "run", fill_memory)
    hosts: Sequence[str] = ("h1", "h2")
    run = play(STEPS[0].id, hosts, Ansible(["overlay.yml"], tmp_path, ignore_event))
    assert run.failed_hosts == ("h1", "h2")
    assert "No space left" in run.failures[0].message
    assert "df -h" in run.failures[0].message


def test_a_cancelled_play_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook, "run", lambda *_: ("", 254))
    ansible = Ansible(["overlay.yml"], tmp_path, ignore_event)
    assert play(STEPS[0].id, ["h1"], replace(ansible, find_stop_reason=lambda: "interrupted")).failed_hosts == ()
    assert play(STEPS[0].id, ["h1"], ansible).failed_hosts == ("h1",)


def test_an_ansible_that_a_signal_ended_fails_the_hosts_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pexpect has no exit status of such a program, and so the runner has none (ansible-runner 2.4, runner.py)."""
    monkeypatch.setattr("ansible_runner.run", lambda **_: SimpleNamespace(rc=None, stdout=StringIO("")))
    run = play(STEPS[0].id, ["h1", "h2"], Ansible(["overlay.yml"], tmp_path, ignore_event))
    assert run.failed_hosts == ("h1", "h2")
    assert "ended in the middle of it: by a signal" in run.failures[0].message


@pytest.fixture
def cfg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ansible.cfg"
    path.write_text("")
    for name in ("ANSIBLE_SSH_EXTRA_ARGS", "ANSIBLE_SSH_RETRIES", "ANSIBLE_REMOTE_TEMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANSIBLE_CONFIG", str(path))
    return path


def test_a_dead_host_is_noticed_and_its_temporary_files_are_ours(cfg: Path, tmp_path: Path) -> None:
    values = build_run_environment(tmp_path, "/bin")
    assert values["ANSIBLE_SSH_EXTRA_ARGS"] == ALIVE
    assert values["ANSIBLE_SSH_RETRIES"] == "2"
    assert values["ANSIBLE_REMOTE_TEMP"] == "~/.ansible/gpustack"


def test_the_ansible_cfg_in_force_is_that_of_plays(cfg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They run in a folder of their own, where Ansible would not find it."""
    assert build_run_environment(tmp_path, "/bin")["ANSIBLE_CONFIG"] == str(cfg)
    monkeypatch.delenv("ANSIBLE_CONFIG")
    monkeypatch.chdir(tmp_path)
    assert build_run_environment(tmp_path, "/bin")["ANSIBLE_CONFIG"] == str(tmp_path / "ansible.cfg")


def test_the_operators_own_settings_stay(cfg: Path, tmp_path: Path) -> None:
    ssh = "[ssh_connection]\nssh_extra_args = -o ServerAliveInterval=3\nretries = 5\n"
    cfg.write_text(f"[defaults]\nremote_tmp = /var/tmp/a\n{ssh}")
    values = build_run_environment(tmp_path, "/bin")
    assert values["ANSIBLE_SSH_EXTRA_ARGS"] == f"-o ServerAliveInterval=3 {ALIVE}"
    assert not {"ANSIBLE_REMOTE_TEMP", "ANSIBLE_SSH_RETRIES"} & set(values)


@pytest.mark.parametrize(
    ("keys", "sum_", "texts"), [(["t"], 2, ["t"]), (["t", "u"], 2, ["one of: t, u"]), (["t"], 1, [])]
)
def test_a_change_without_details_counts(keys: list[str], sum_: int, texts: list[str]) -> None:
    """The runner says neither the result of a task with no_log nor whether it changed something."""
    events: list[Event] = []
    tally = Tally(events.append, "prereqs")
    for task in keys:
        tally.record_event(
            {"event": "runner_on_ok", "event_data": {"host": "h1", "task": task, "res": {"censored": "hidden"}}}
        )
    tally.record_event(
        {"event": "runner_on_ok", "event_data": {"host": "h1", "task": "open", "res": {"changed": True}}}
    )
    assert tally.change_counts == {"h1": 1}
    tally.record_event(
        {"event": "playbook_on_stats", "event_data": {"changed": {"h1": sum_, "h2": 0}, "ok": {"h1": 3}}}
    )
    assert tally.change_counts == {"h1": sum_}
    assert [event.message for event in events if event.kind == "changed"] == ["open", *texts]


def test_a_failure_that_is_kept_secret_says_so() -> None:
    tally = Tally(lambda event: None, "prereqs")
    data = {"host": "h1", "task": "t", "res": {"censored": "hidden"}}
    tally.record_event({"event": "runner_on_failed", "event_data": data})
    assert "kept secret" in tally.failures[0].message


def test_the_differences_of_a_loop_are_those_of_its_rounds() -> None:
    """ansible-core 2.19 tells them so in check mode: also of what stays as it is, with no line in it."""
    tally = Tally(lambda event: None, "containerd")
    diff = {"before_header": "/etc/x", "before": "a\n", "after_header": "/etc/x", "after": "z\n"}
    rounds = [{"changed": True, "diff": diff, "item": "a"}, {"changed": False, "item": "q"}]
    same_diff = {"changed": False, "diff": {"before": {"path": "/etc/x"}, "after": {"path": "/etc/x"}}}
    for task, result in (("loop", {"changed": True, "results": rounds}), ("same", same_diff)):
        tally.record_event({"event": "runner_on_ok", "event_data": {"host": "h1", "task": task, "res": result}})
    assert tally.diffs == [("h1", "loop", diff)]


def play_tasks(folder: Path, module: str, tasks: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Play the tasks on this machine, as h1, and return their results. `module` is the script of `told`."""
    for name in ("library", "private"):
        (folder / name).mkdir()
    (folder / "library" / "told").write_text(f"#!/bin/sh\n# WANT_JSON\n{module}\n")
    (folder / "hosts.yml").write_text("all: {hosts: {h1: {ansible_connection: local, ours: asked}}}\n")
    (folder / "one.yml").write_text(f"- {{hosts: all, gather_facts: false, tasks: [{tasks}]}}\n")
    monkeypatch.setattr(playbook, "locate_playbooks", lambda: folder)
    results: list[dict[str, Any]] = []
    tally: Any = SimpleNamespace(report_wait=lambda: None, record_event=results.append)
    output, rc = playbook.run(
        "one", ["h1"], Ansible([str(folder / "hosts.yml")], folder / "private", ignore_event), tally
    )
    assert rc == 0, output
    return [event["event_data"]["res"] for event in results if event["event"] == "runner_on_ok"]


@pytest.mark.long
def test_what_a_module_is_given_goes_to_no_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible's modules log their arguments on the host, Helm's values among them, unless `no_log` is set. This
    one answers its arguments, in a real play, with an operator who set it otherwise."""
    monkeypatch.setenv("ANSIBLE_NO_TARGET_SYSLOG", "False")
    module = 'printf \'{"told": %s}\' "$(cat "$1")"'
    (result,) = play_tasks(tmp_path, module, "{name: t, told: {of: values}}", monkeypatch)
    assert (result["told"]["of"], result["told"]["_ansible_no_log"]) == ("values", True)


@pytest.mark.long
def test_no_answer_of_a_host_replaces_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module runs on the host, so its whole result is the host's word, the facts in it too."""
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", "True")
    module = 'echo \'{"ansible_facts": {"ours": "hostile"}}\''
    tasks = "{name: t, told: {of: x}}, {name: u, ansible.builtin.debug: {var: ours}}"
    _, shown_tasks = play_tasks(tmp_path, module, tasks, monkeypatch)
    assert shown_tasks["ours"] == "asked"


def test_a_play_repeated_by_hand_has_the_same_safeguards(tmp_path: Path) -> None:
    words = shlex.split(playbook.build_command_line("taint", ["hosts.yml"], ["h1"]))
    settings = dict(word.split("=", 1) for word in words[: words.index("ansible-playbook")])
    assert settings == {key: build_run_environment(tmp_path, "/bin")[key] for key in settings}
    assert {"ANSIBLE_INJECT_FACT_VARS", "ANSIBLE_NO_TARGET_SYSLOG"} <= set(settings)


def test_a_task_of_minutes_is_reported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    moments = iter([0.0, 10.0, 16.0, 16.0, 20.0, 31.5, 31.5])
    monkeypatch.setattr("gpustack.rollout.playbook.time.monotonic", lambda: next(moments))
    tally = Tally(events.append, "reset", reported_at=0.0)
    tally.record_event({"event": "playbook_on_task_start", "event_data": {"task": "Ensure the pods have ended"}})
    next(moments)
    for _ in range(4):
        tally.report_wait()
    waits = [(event.subject, event.message) for event in events if event.kind == "waiting"]
    assert waits == [("reset", "Ensure the pods have ended")] * 2

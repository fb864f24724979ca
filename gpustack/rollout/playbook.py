"""A playbook, run through ansible-runner and reported as events and a PlaybookRun.

No other module knows ansible-runner. Nothing secret goes through its inputs, which it writes to disk: the become
password is the one exception, and goes through the runner's `passwords` into a private folder in memory.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.command import Command
from gpustack.config.ansible.cfg import build_environment, read_ansible_cfg
from gpustack.config.ansible.inventory_listing import build_ignore_pattern
from gpustack.config.resources import locate_playbooks
from gpustack.events import Event, Reporter
from gpustack.probes.kubernetes.cluster_leftovers import TEMPORARY_FOLDER
from gpustack.rollout.plan import PlaybookRun, TaskFailure
from gpustack.rollout.reaper import bind_program, is_lapsed, read_endless_expiry
from gpustack.rollout.watcher import kill_all

BECOME_PROMPT = r"(?i)become password.*:\s*?$"
FORKS = 32
WAIT_INTERVAL = 15.0
"""Seconds after which the task that runs is reported again."""
LONGEST = 4000
"""Characters of a failure, which may list the output of a whole play."""
# Keep a host from choosing for the controller, and secrets out of its journal, also when a play is repeated by hand.
SAFEGUARDS = {
    # Any module's answer may hold facts, which would win over variables of the inventory: a host would say which of the
    # controller's files its next task is given, or which one holds its tasks.
    "ANSIBLE_INJECT_FACT_VARS": "False",
    # Modules would log what they are given to the host's journal, which more people read than root.
    "ANSIBLE_NO_TARGET_SYSLOG": "True",
}
# No variable of the operator's environment replaces these settings.
FIXED_VARIABLES = {
    "PATH",
    "LC_ALL",
    "ANSIBLE_CONFIG",
    "ANSIBLE_ROLES_PATH",
    "ANSIBLE_HOST_KEY_CHECKING",
    "ANSIBLE_SSH_EXTRA_ARGS",
    "ANSIBLE_INVENTORY_IGNORE_REGEX",
    *SAFEGUARDS,
}
ALIVE = "-o ServerAliveInterval=10 -o ServerAliveCountMax=4"


@dataclass(frozen=True)
class Ansible:
    """Describe how playbooks are run: on the inventories `sources`, from `private`, a folder in memory that the caller
    removes. `find_stop_reason` says why to stop. `run` is the id beside the locks of the run, empty without locks;
    `read_expiry` says until when they are held."""

    sources: Sequence[str]
    private: Path
    report: Reporter
    become_password: str | None = field(default=None, repr=False)
    find_stop_reason: Callable[[], object] = lambda: None
    run: str = ""
    read_expiry: Callable[[], float] = read_endless_expiry


@dataclass
class Tally:
    """Collect what the runner's events say, while they come. `diffs` are (host, task, Ansible's diff), `hidden_tasks`
    the tasks of a host that log nothing."""

    report: Reporter
    step: str
    change_counts: dict[str, int] = field(default_factory=dict)
    failures: list[TaskFailure] = field(default_factory=list)
    ok: set[str] = field(default_factory=set)
    diffs: list[tuple[str, str, Any]] = field(default_factory=list)
    task: str = ""
    reported_at: float = field(default_factory=time.monotonic)
    hidden_tasks: dict[str, list[str]] = field(default_factory=dict)

    def report_wait(self) -> None:
        """Report the task that runs, so that a log is never silent for long. A task of minutes has no event."""
        if self.task and time.monotonic() - self.reported_at >= WAIT_INTERVAL:
            self.reported_at = time.monotonic()
            self.report(Event("waiting", self.step, self.task))

    def record_event(self, event: dict[str, Any]) -> bool:
        """Record an event. Return True, so that the runner keeps it in its own folder too (which is removed)."""
        kind, event_data = event.get("event", ""), event.get("event_data", {})
        host, task = event_data.get("host", ""), event_data.get("task", "")
        if kind == "playbook_on_task_start":
            self.task = task
            self.report(Event("task", self.step, task))
        elif kind == "runner_on_ok":
            self.ok.add(host)
            self.diffs += [(host, task, diff) for diff in collect_diffs(event_data.get("res", {}))]
            if event_data.get("res", {}).get("changed"):
                self.change_counts[host] = self.change_counts.get(host, 0) + 1
                self.report(Event("changed", host, task, float(event_data.get("duration") or 0)))
            elif "censored" in event_data.get("res", {}):
                self.hidden_tasks.setdefault(host, []).append(task)
        elif kind == "runner_retry":
            self.report(Event("waiting", self.step, f"{host}: {describe_retry(event_data)}"))
        elif kind == "playbook_on_stats":
            for host, count in event_data.get("changed", {}).items():
                self.report_hidden(host, count - self.change_counts.get(host, 0))
            self.change_counts |= {host: count for host, count in event_data.get("changed", {}).items() if count}
        elif kind in ("runner_on_failed", "runner_on_unreachable") and not event_data.get("ignore_errors"):
            failure = TaskFailure(
                host, task, event_data.get("task_path", ""), format_failure(event_data), kind.endswith("unreachable")
            )
            self.failures.append(failure)
            self.report(Event("failed", host, f"{task}: {failure.message}"))
        return True

    def report_hidden(self, host: str, count: int) -> None:
        """Report changes of tasks that log nothing. The runner reports none of them: only the sum counts them."""
        tasks = self.hidden_tasks.get(host, [])
        for task in tasks if len(tasks) == count else [f"one of: {', '.join(tasks)}"] * count:
            self.report(Event("changed", host, task))


def collect_diffs(result: dict[str, Any]) -> list[Any]:
    """Collect the differences of what changed; of a loop those of its rounds. A round that changed nothing has one
    without lines."""
    rounds = [loop_result for loop_result in result.get("results", []) if isinstance(loop_result, dict)] or [result]
    return [round_result["diff"] for round_result in rounds if round_result.get("changed") and round_result.get("diff")]


def describe_retry(event_data: dict[str, Any]) -> str:
    """Describe why a task is tried again: the last line of its command."""
    result = event_data.get("res", {})
    lines = str(result.get("stderr", "") if isinstance(result, dict) else "").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "tried again")


def format_failure(event_data: dict[str, Any]) -> str:
    """Format the message of the module, then what the command printed on stderr."""
    result = event_data.get("res", {})
    if not isinstance(result, dict):
        return str(result)
    parts = [str(result.get("msg", "")), *(str(result.get(key, "")) for key in ("stderr", "stdout"))]
    loops = [
        str(entry.get("msg", ""))
        for entry in result.get("results", [])
        if isinstance(entry, dict) and entry.get("failed")
    ]
    if "censored" in result:
        parts.append("its output is kept secret, because it may hold a password")
    messages = [part.strip() for part in (*parts, *loops) if part.strip()]
    return shorten_message("\n".join(dict.fromkeys(messages)), LONGEST) or "the task failed without a message"


def build_command_line(name: str, sources: Sequence[str], hosts: Sequence[str]) -> Command:
    """Build the equivalent command, for the operator to repeat by hand."""
    words = [*(f"{setting}={value}" for setting, value in SAFEGUARDS.items()), "ansible-playbook"]
    for source in sources:
        words += ["-i", source]
    return Command(*words, "--limit", ",".join(hosts), str(locate_playbooks() / f"{name}.yml"))


def play(name: str, hosts: Sequence[str], ansible: Ansible) -> PlaybookRun:
    """Run a playbook by its name: a step's id, reset, or remedy/KIND. Hosts that fail are in the result; nothing is
    raised."""
    started_at = time.monotonic()
    tally = Tally(ansible.report, name)
    try:
        output, rc = run(name, hosts, ansible, tally)
    except OSError as error:
        # Ansible's runner keeps its books in that folder, and memory can run full too.
        reason = f"{error}\n{Command('df', '-h', str(ansible.private.parent))}"
        failure = TaskFailure(hosts[0], "ansible-runner", str(ansible.private), reason)
        ansible.report(Event("failed", failure.host, failure.message))
        tally.failures += [replace(failure, host=name) for name in hosts]
        output, rc = "", 1
    bad = {failure.host for failure in tally.failures}
    if not tally.ok and not bad and not ansible.find_stop_reason():
        # No task ran: the playbook itself, the inventory or Ansible was at fault.
        path, reason = str(locate_playbooks() / f"{name}.yml"), shorten_message(output.strip(), LONGEST)
        tally.failures.append(TaskFailure(hosts[0], "ansible-playbook", path, reason or f"ended with {rc}"))
        bad = set(hosts)
    return PlaybookRun(
        name,
        tuple(hosts),
        tuple(sorted(tally.change_counts)),
        tuple(sorted(bad)),
        tuple(tally.failures),
        time.monotonic() - started_at,
        build_command_line(name, ansible.sources, hosts),
        sum(tally.change_counts.values()),
    )


def run(name: str, hosts: Sequence[str], ansible: Ansible, tally: Tally, flags: str = "") -> tuple[str, int]:
    """Run a playbook. Return the output of Ansible and its exit status."""
    import ansible_runner

    # One for each play: a fix previews a playbook and plays it, and may do so again for the next fault.
    folder = Path(mkdtemp(prefix=f"play-{name.replace('/', '-')}-", dir=ansible.private))
    password = ansible.become_password
    passwords: dict[str, Any] = {"passwords": {BECOME_PROMPT: password}} if password else {}
    run_option = f" --extra-vars gpustack_run={ansible.run}" if ansible.run else ""
    with bind_program("ansible-playbook", folder, ansible.read_expiry) as path:
        runner = ansible_runner.run(
            private_data_dir=str(folder),
            playbook=str(locate_playbooks() / f"{name}.yml"),
            inventory=list(ansible.sources),
            limit=",".join(hosts),
            cmdline=f"--forks {FORKS}{' --ask-become-pass' if password else ''}{run_option}{flags}",
            envvars=build_run_environment(folder, path),
            event_handler=tally.record_event,
            cancel_callback=partial(poll_stop, ansible, tally),
            quiet=True,
            suppress_env_files=True,
            **passwords,
        )
    if ansible.find_stop_reason():
        kill_all(folder)
    # The runner has no exit status of a program that a signal ended.
    if is_lapsed(folder) or runner.rc is None:
        cause = "its watcher was stopped" if is_lapsed(folder) else "by a signal, as when memory is full"
        reason = f"Ansible was ended in the middle of it: {ansible.find_stop_reason() or cause}"
        tally.failures += [
            TaskFailure(host, "ansible-playbook", str(locate_playbooks() / f"{name}.yml"), reason) for host in hosts
        ]
    with runner.stdout as stdout:
        return stdout.read(), 1 if runner.rc is None else int(runner.rc)


def poll_stop(ansible: Ansible, tally: Tally) -> bool:
    """Tell the runner whether to stop. It asks at each event, and every few seconds without one."""
    tally.report_wait()
    return bool(ansible.find_stop_reason())


def build_run_environment(folder: Path, path: str) -> dict[str, str]:
    """Build Ansible's settings for the plays of gpustack. The operator's ansible.cfg stays in force for all else."""
    cfg = read_ansible_cfg()
    settings = {
        "PATH": path,
        **build_environment(),
        "ANSIBLE_ROLES_PATH": str(locate_playbooks() / "roles"),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_SSH_PIPELINING": "True",
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_NOCOLOR": "True",
        "ANSIBLE_INVENTORY_IGNORE_REGEX": build_ignore_pattern(),
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "False",
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_PYTHON_INTERPRETER": "auto_silent",
        **SAFEGUARDS,
        # A host that lost its power says nothing any more, and ssh would wait for it for hours.
        "ANSIBLE_SSH_EXTRA_ARGS": f"{cfg.ssh_extra_args} {ALIVE}".strip(),
        # A moment without packets is no reason to leave a host. What a task began there goes on, and the scripts that
        # must not run twice at once keep a lock.
        **({} if cfg.ssh_retries else {"ANSIBLE_SSH_RETRIES": "2"}),
        **({} if cfg.remote_tmp else {"ANSIBLE_REMOTE_TEMP": TEMPORARY_FOLDER}),
    }
    operator_environment = os.environ
    return {key: value for key, value in settings.items() if key in FIXED_VARIABLES or key not in operator_environment}

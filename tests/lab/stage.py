"""Interruptions share a stage: the hosts at their point, runs beside the test, watchers on hosts, small disks."""

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpustack.events import ignore_event
from gpustack_lab.lab import hosts, locks
from tests.lab import witness
from tests.lab.broken_off import Run
from tests.lab.story import Story, on

# Twenty times a second, five minutes long.
WATCH = "for i in $(seq 6000); do if {condition}; then {then}; exit 0; fi; sleep 0.05; done; exit 1"
# dpkg's words for a package that it is not through with.
CONFIGURING = "dpkg-query -Wf '${db:Status-Status}\\n' | grep -qxE 'unpacked|half-configured|triggers-pending'"
LOCKER = """import fcntl, sys
file = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@dataclass
class Stage:
    """A stage runs the steps of `step_limit`, all when it is empty. `runs` are those that were begun."""

    story: Story
    folder: Path
    rng: random.Random
    step_limit: str = ""
    inventory: Path | None = None
    runs: list[Run] = field(default_factory=list)

    def build_words(self, verb: str, *options: str) -> tuple[str, ...]:
        only_option = ("--only", self.step_limit) if self.step_limit else ()
        yes = ("--yes",) if verb == "install" else ()
        return (verb, "-i", str(self.inventory or self.story.lab.inventory), *yes, *only_option, *options)

    def run(self, verb: str = "install", *options: str, operator: str = "one", **env: str) -> Run:
        """Begin a run. Runs of one operator share their state and memory, as on one machine."""
        run = Run(self.build_words(verb, *options), self.folder / operator, env)
        self.runs.append(run.start())
        return run

    def on(self, host: str, script: str) -> str:
        """Run a script on a host, which has to succeed, and return its output."""
        process = on(self.story, host, f"set -e\n{script}")
        assert process.returncode == 0, (host, script, process.stdout, process.stderr)
        return process.stdout

    def start_beside(self, host: str, *argv: str) -> "subprocess.Popen[str]":
        """Start a command on a host that goes on while the test does. It ends at the latest with its stdin."""
        words = [*self.story.lab.build_ssh_command(host), "--", "sudo", *argv]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @contextmanager
    def watch(self, host: str, condition: str, script: str = ":") -> Iterator["subprocess.Popen[str]"]:
        """Watch until `condition` is true on the host, then run `script` there."""
        quoted_script = WATCH.format(condition=condition, then=script).replace("'", "'\\''")
        with end_process(self.start_beside(host, "sh", "-c", f"'{quoted_script}'")) as watcher:
            yield watcher

    @contextmanager
    def lock_apt(self, host: str) -> Iterator["subprocess.Popen[str]"]:
        """Hold dpkg's lock as another program, until its stdin is closed."""
        with end_process(self.start_beside(host, "python3", "-c", f"'{LOCKER}'")) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == "held\n"
            yield holder

    def power_cut(self, host: str) -> None:
        """Cut the power of a host, which boots again. It keeps what it had written: the kernel under it lives."""
        record = self.story.lab.record
        (entry_of_host,) = [entry for entry in record.hosts if entry.name == host]
        with locks.hold_lock(record.name):
            hosts.kill(record, [entry_of_host])
            hosts.boot(record, [entry_of_host])
        hosts.wait_for_ssh(record, [entry_of_host], ignore_event)

    def reboot(self, host: str) -> None:
        """Reboot a host as its operator does it."""
        first = "ps -o lstart= -p 1"
        before = self.on(host, first)
        on(self.story, host, "systemctl reboot")
        witness.wait_until(
            f"{host} boots", lambda: (boot := on(self.story, host, first)).returncode == 0 and boot.stdout != before
        )

    def wait_until_met(self, run: Run, watcher: "subprocess.Popen[str]") -> None:
        run.wait_until("the moment on the host", lambda: watcher.poll() is not None)
        assert watcher.returncode == 0


@contextmanager
def end_process(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def mount_small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of its own on the controller."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    with (folder / "filling").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            return


def pause(run: Run, seconds: float) -> None:
    """Let a run go on for a moment; it must not end meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    assert not run.is_over(), f"it had ended before it could be interrupted\n{run.read_output()}"

"""Faults on the side of the operators: full disks of the controller, a second operator, the lost lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from gpustack.config.resources import locate_playbooks
from tests.lab import witness
from tests.lab.aftermath import read_program
from tests.lab.broken_off import LIMIT, Run
from tests.lab.host_faults import HURT
from tests.lab.stage import Stage, end_process, fill, mount_small_disk, pause
from tests.lab.story import list_tasks, on

LOCK, NOTE = "/run/gpustack-cluster/lock", "/run/gpustack-cluster/holder"
# Seconds until the lock of a stopped run has ended, and all that it played.
LAPSE = 90
HOSTS = "dpkg -l | sha256sum; find /etc -type f -newer /proc/1 | sort | xargs -r sha256sum"
# Processes that have the lock open as our script does.
HOLDERS = f"""for fd in /proc/[0-9]*/fd/9; do
  [ "$(readlink "$fd")" != {LOCK} ] || kill -9 "$(echo "$fd" | cut -d/ -f3)"
done"""


def fill_disk_before(stage: Stage) -> str:
    """Fill the controller's disk before a run, which reports it before anything is changed."""
    before = [stage.on(host, HOSTS) for host in ("host1", "host2")]
    with mount_small_disk(stage.folder / "full" / "state", "1m") as disk:
        fill(disk)
        run = stage.run(operator="full")
        assert run.end() == 5, run.read_output()
    assert "controller-no-space" in run.read_output()
    assert "df -h" in run.read_output()
    assert [stage.on(host, HOSTS) for host in ("host1", "host2")] == before
    return "refused with 5 before a host was changed"


def fill_during_install(stage: Stage, disk: Path) -> tuple[Run, str]:
    """Fill the disk during an installation, and return the run and the task at which it became full."""
    run = stage.run(operator="full")
    task = stage.rng.choice(list_tasks("containerd")[:3])
    run.wait_for_task("containerd", task)
    fill(disk)
    return run, task


def fill_disk_during(stage: Stage) -> str:
    with mount_small_disk(stage.folder / "full" / "state", "24m") as disk:
        run, task = fill_during_install(stage, disk)
        assert run.end() == 0, run.read_output()
    assert "evidence: not kept" in run.read_output()
    return f"as “{task}” began; it said so, went on and ended with 0"


def fill_memory_during(stage: Stage) -> str:
    """Fill the memory during a run. Ansible cannot work without; the hosts that it was at are named."""
    with mount_small_disk(stage.folder / "full" / "memory", "24m") as disk:
        run, task = fill_during_install(stage, disk)
        code = run.end()
        assert code in HURT, run.read_output()
    assert "No space left" in run.read_output()
    return f"as “{task}” began; it said so and ended with {code}"


def start_second_operator(stage: Stage) -> str:
    first = stage.run()
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    second = stage.run("install", "--force", operator="two")
    looks = [stage.run("plan", operator="two"), stage.run("verify", operator="two")]
    assert second.end() == 7, second.read_output()
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(second.read_output().split())
    assert [run.end() for run in looks] == [1, 1], [run.read_output() for run in looks]
    assert first.end() == 0, first.read_output()
    return "install 7 and the holder's name, plan and verify 1; the first ended with 0"


def suspend_first(stage: Stage) -> str:
    """Suspend the first operator's play: it ends before a second one is let in, and reports so."""
    first = stage.run()
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    assert first.process
    os.kill(first.process.pid, signal.SIGTSTP)
    pause(first, 2)
    assert "Ctrl-Z is refused" in first.read_output()
    os.kill(first.process.pid, signal.SIGSTOP)
    refused_process = stage.run("install", "--force", operator="two")
    assert refused_process.end() == 7, refused_process.read_output()
    assert f"(pid {first.process.pid})" in " ".join(refused_process.read_output().split())
    witness.wait_until("the lock of the stopped run ends", lambda: not is_held(stage), LAPSE)
    assert {read_program(pid) for pid in first.list_processes() if pid != first.process.pid} <= {"ssh"}
    second = stage.run("install", "--force", operator="two")
    assert second.end() == 0, second.read_output()
    os.kill(first.process.pid, signal.SIGCONT)
    code = first.end(limit=120)
    assert code == 5, first.read_output()
    text = " ".join(first.read_output().split())
    assert "the lock on host1 was lost: " in text
    assert "Ansible was ended in the middle of it" in text
    return f"Ctrl-Z was refused; stopped, its play was killed; the second's install ended with 0, the first with {code}"


def is_held(stage: Stage) -> bool:
    """Tell whether the lock of one of the hosts is held."""
    script = f"flock --nonblock {LOCK} true || echo held"
    return any("held" in stage.on(host, script) for host in ("host1", "host2"))


def start_in_other_order(stage: Stage) -> str:
    """Start two operators whose inventories have the workers in another order and only in part."""
    first = stage.run("install", "--limit", "host1")
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    second = stage.run("install", "--force", "--limit", "host2", operator="two")
    assert second.end() == 7, second.read_output()
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(second.read_output().split())
    assert first.end() in (0, *HURT), first.read_output()
    return "install of another host 7 and the holder's name"


def play_by_hand(stage: Stage) -> str:
    """Play the printed ansible-playbook command: it is refused on hosts that a run holds, and plays on free ones."""
    first = stage.run()
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    overlay = next(first.state.glob("gpustack/runs/*/overlay.yml"))
    inventory = str(stage.inventory or stage.story.lab.inventory)
    playbook = str(locate_playbooks() / "containerd.yml")
    words = ["ansible-playbook", "-i", inventory, "-i", str(overlay), "--limit", "host2", playbook]

    def play() -> "subprocess.CompletedProcess[str]":
        program = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=LIMIT, check=False)

    refused_process = play()
    assert refused_process.returncode == 2, refused_process.stdout
    assert "The lock of host2 is not held by this run" in " ".join(refused_process.stdout.split())
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(refused_process.stdout.split())
    assert first.end() == 0, first.read_output()
    played_process = play()
    assert played_process.returncode == 0, played_process.stdout
    return "refused with the holder's name; once the run had ended, it played"


def kill_first(stage: Stage) -> str:
    """Kill the first operator: the lock goes with it, and nobody waits, though its tasks still run on the hosts."""
    first = stage.run()
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    pause(first, stage.rng.uniform(0, 2))
    first.kill()
    second = stage.run(operator="two")
    assert second.end() == 0, second.read_output()
    return "the second operator's install ended with 0"


def lock_lost(stage: Stage) -> str:
    """Take the lock while the connection of the first is broken: it must stop, and touch nothing more."""
    first = stage.run()
    first.wait_for_task("containerd", list_tasks("containerd")[0])
    take = f"flock --timeout 20 {LOCK} sh -c 'echo ann@desk >{NOTE}; echo held; cat'".replace("'", "'\\''")
    with end_process(stage.start_beside("host1", "sh", "-c", f"'{take}'")) as holder:
        on(stage.story, "host1", HOLDERS)
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        code = first.end(limit=90)
    assert code in HURT, first.read_output()
    assert "now it is held by ann@desk" in " ".join(first.read_output().split())
    on(stage.story, "host1", f"rm -f {NOTE}")
    return f"it stopped, said who has it now, and ended with {code}"

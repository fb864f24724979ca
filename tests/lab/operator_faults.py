"""Faults on the side of the operators: full disks of the controller, a second operator, the lost lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from gpustack.config.resources import locate_playbooks
from tests.lab import witness
from tests.lab.aftermath import program
from tests.lab.broken_off import LIMIT, Run
from tests.lab.host_faults import HURT
from tests.lab.stage import Stage, ended, fill, pause, small_disk
from tests.lab.story import on, tasks

LOCK, NOTE = "/run/gpustack-cluster/lock", "/run/gpustack-cluster/holder"
# Seconds until the lock of a stopped run has ended, and all that it played.
LAPSE = 90
HOSTS = "dpkg -l | sha256sum; find /etc -type f -newer /proc/1 | sort | xargs -r sha256sum"
# Processes that have the lock open as our script does.
HOLDERS = f"""for fd in /proc/[0-9]*/fd/9; do
  [ "$(readlink "$fd")" != {LOCK} ] || kill -9 "$(echo "$fd" | cut -d/ -f3)"
done"""


def disk_full_before(stage: Stage) -> str:
    """Told before anything is changed."""
    before = [stage.on(host, HOSTS) for host in ("host1", "host2")]
    with small_disk(stage.folder / "full" / "state", "1m") as disk:
        fill(disk)
        run = stage.run(operator="full")
        assert run.end() == 5, run.output()
    assert "controller-no-space" in run.output()
    assert "df -h" in run.output()
    assert [stage.on(host, HOSTS) for host in ("host1", "host2")] == before
    return "refused with 5 before a host was changed"


def filled(stage: Stage, disk: Path) -> tuple[Run, str]:
    """An installation, and the task at which the disk became full."""
    run = stage.run(operator="full")
    task = stage.rng.choice(tasks("containerd")[:3])
    run.until_task("containerd", task)
    fill(disk)
    return run, task


def disk_full_during(stage: Stage) -> str:
    with small_disk(stage.folder / "full" / "state", "24m") as disk:
        run, task = filled(stage, disk)
        assert run.end() == 0, run.output()
    assert "evidence: not kept" in run.output()
    return f"as “{task}” began; it said so, went on and ended with 0"


def memory_full_during(stage: Stage) -> str:
    """Ansible cannot work without; the hosts that it was at are named."""
    with small_disk(stage.folder / "full" / "memory", "24m") as disk:
        run, task = filled(stage, disk)
        code = run.end()
        assert code in HURT, run.output()
    assert "No space left" in run.output()
    return f"as “{task}” began; it said so and ended with {code}"


def second_operator(stage: Stage) -> str:
    first = stage.run()
    first.until_task("containerd", tasks("containerd")[0])
    second = stage.run("install", "--force", operator="two")
    looks = [stage.run("plan", operator="two"), stage.run("verify", operator="two")]
    assert second.end() == 7, second.output()
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(second.output().split())
    assert [look.end() for look in looks] == [1, 1], [look.output() for look in looks]
    assert first.end() == 0, first.output()
    return "install 7 and the holder's name, plan and verify 1; the first ended with 0"


def second_after_suspension(stage: Stage) -> str:
    """The first is stopped while it plays: what it plays ends before a second one is let in, and it says so."""
    first = stage.run()
    first.until_task("containerd", tasks("containerd")[0])
    assert first.process
    os.kill(first.process.pid, signal.SIGTSTP)
    pause(first, 2)
    assert "Ctrl-Z is refused" in first.output()
    os.kill(first.process.pid, signal.SIGSTOP)
    refused = stage.run("install", "--force", operator="two")
    assert refused.end() == 7, refused.output()
    assert f"(pid {first.process.pid})" in " ".join(refused.output().split())
    witness.until("the lock of the stopped run ends", lambda: not is_held(stage), LAPSE)
    assert {program(pid) for pid in first.processes() if pid != first.process.pid} <= {"ssh"}
    second = stage.run("install", "--force", operator="two")
    assert second.end() == 0, second.output()
    os.kill(first.process.pid, signal.SIGCONT)
    code = first.end(limit=120)
    assert code == 5, first.output()
    text = " ".join(first.output().split())
    assert "the lock on host1 was lost: " in text
    assert "Ansible was ended in the middle of it" in text
    return f"Ctrl-Z was refused; stopped, its play was killed; the second's install ended with 0, the first with {code}"


def is_held(stage: Stage) -> bool:
    """Is the lock of one of the hosts held?"""
    script = f"flock --nonblock {LOCK} true || echo held"
    return any("held" in stage.on(host, script) for host in ("host1", "host2"))


def other_order(stage: Stage) -> str:
    """Two operators, whose inventories have the workers in another order and only in part."""
    first = stage.run("install", "--limit", "host1")
    first.until_task("containerd", tasks("containerd")[0])
    second = stage.run("install", "--force", "--limit", "host2", operator="two")
    assert second.end() == 7, second.output()
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(second.output().split())
    assert first.end() in (0, *HURT), first.output()
    return "install of another host 7 and the holder's name"


def played_by_hand(stage: Stage) -> str:
    """The printed ansible-playbook command is refused on hosts that a run holds, and plays on free ones."""
    first = stage.run()
    first.until_task("containerd", tasks("containerd")[0])
    overlay = next(first.state.glob("gpustack/runs/*/overlay.yml"))
    inventory = str(stage.inventory or stage.story.lab.inventory)
    playbook = str(locate_playbooks() / "containerd.yml")
    words = ["ansible-playbook", "-i", inventory, "-i", str(overlay), "--limit", "host2", playbook]

    def play() -> "subprocess.CompletedProcess[str]":
        program = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=LIMIT, check=False)

    refused = play()
    assert refused.returncode == 2, refused.stdout
    assert "The lock of host2 is not held by this run" in " ".join(refused.stdout.split())
    assert f"(pid {first.process.pid if first.process else 0})" in " ".join(refused.stdout.split())
    assert first.end() == 0, first.output()
    done = play()
    assert done.returncode == 0, done.stdout
    return "refused with the holder's name; once the run had ended, it played"


def second_after_kill(stage: Stage) -> str:
    """The lock went with its holder: nobody waits for it, though what it began still runs on the hosts."""
    first = stage.run()
    first.until_task("containerd", tasks("containerd")[0])
    pause(first, stage.rng.uniform(0, 2))
    first.kill()
    second = stage.run(operator="two")
    assert second.end() == 0, second.output()
    return "the second operator's install ended with 0"


def lock_lost(stage: Stage) -> str:
    """Another holder came while the connection was broken: the first must stop, and touch nothing more."""
    first = stage.run()
    first.until_task("containerd", tasks("containerd")[0])
    take = f"flock --timeout 20 {LOCK} sh -c 'echo ann@desk >{NOTE}; echo held; cat'".replace("'", "'\\''")
    with ended(stage.beside("host1", "sh", "-c", f"'{take}'")) as other:
        on(stage.story, "host1", HOLDERS)
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        code = first.end(limit=90)
    assert code in HURT, first.output()
    assert "now it is held by ann@desk" in " ".join(first.output().split())
    on(stage.story, "host1", f"rm -f {NOTE}")
    return f"it stopped, said who has it now, and ended with {code}"

"""Faults of hosts and of the way to them: sessions, packets, power, disks, a busy apt."""

from tests.lab.stage import Stage, pause
from tests.lab.story import copy_inventory, list_tasks, on

# A run that was hurt on one host says so by these (docs/exit-codes.md); it never says 0, and never a bug's 70.
HURT = (5, 6, 8)
SESSIONS = "kill -9 $(pgrep -u ops sshd)"
SILENCE = """nft add table inet silence
nft add chain inet silence in '{ type filter hook input priority -300; policy accept; }'
nft add rule inet silence in tcp dport 22 drop
sleep 8
nft delete table inet silence"""


def kill_sessions(stage: Stage, host: str, step: str) -> str:
    run = stage.run()
    task = stage.rng.choice(list_tasks(step))
    run.wait_for_task(step, task)
    on(stage.story, host, SESSIONS)
    code = run.end()
    assert code in (0, *HURT), run.read_output()
    return f"on {host}, as “{task}” began; it ended with {code}"


def silence_host(stage: Stage) -> str:
    """Drop the packets of a host for a while. TCP sends again, and nobody gives up that soon."""
    run = stage.run()
    task = stage.rng.choice(list_tasks("containerd"))
    run.wait_for_task("containerd", task)
    script = SILENCE.replace("'", "'\\''")
    stage.on("host2", f"systemd-run --quiet --collect sh -c '{script}'")
    assert run.end() == 0, run.read_output()
    return f"as “{task}” began; it went on and ended with 0"


def power_cut(stage: Stage, host: str, condition: str) -> str:
    with stage.watch(host, condition) as watcher:
        run = stage.run()
        stage.wait_until_met(run, watcher)
    stage.power_cut(host)
    code = run.end(limit=400)
    # 0: it was up again before Ansible had tried three times.
    assert code in (0, *HURT), run.read_output()
    return f"it ended with {code}"


def reboot_host(stage: Stage) -> str:
    run = stage.run()
    task = stage.rng.choice(list_tasks("kubernetes"))
    run.wait_for_task("kubernetes", task)
    stage.reboot("host2")
    code = run.end(limit=400)
    assert code in (0, *HURT), run.read_output()
    return f"as “{task}” began; it ended with {code}"


def lock_apt(stage: Stage) -> str:
    with stage.lock_apt("host2") as holder:
        run = stage.run()
        text = "waiting: host2: apt is locked by process "
        run.wait_until("the lock's holder is named", lambda: text in run.read_output(), limit=120)
        line = next(line for line in run.read_output().splitlines() if text in line)
        pid = line.partition(text)[2].partition(":")[0]
        assert "python3 -c import fcntl" in stage.on("host2", f"tr '\\0' ' ' </proc/{pid}/cmdline"), line
        assert "python3" in line
        pause(run, 2)
        assert holder.stdin
        holder.stdin.close()
        holder.wait()
        holder.stdin = None
        assert run.end() == 0, run.read_output()
    return "it waited, named the holder, and ended with 0"


def lock_apt_too_long(stage: Stage) -> str:
    stage.inventory = copy_inventory(stage.story, stage.folder / "inventory", apt_lock_wait=10)
    with stage.lock_apt("host2"):
        run = stage.run()
        assert run.end() == 5, run.read_output()
    text = " ".join(run.read_output().split())
    assert "apt is locked by process" in text.partition("containerd failed on host2")[2]
    assert "gpustack explain apt-locked" in text
    return "it waited 10 s, named the holder, and ended with 5"


def fill_disk(stage: Stage, folder: str, words: tuple[str, ...]) -> str:
    """Mount a full file system of 2 MiB in place of a folder of host2: the root is shared by all hosts of this
    machine."""
    stage.on("host2", f"mkdir -p {folder}; mount -t tmpfs -o size=2m tmpfs {folder}; fallocate -l 2m {folder}/full")
    try:
        run = stage.run()
        assert run.end() == 5, run.read_output()
        text = " ".join(run.read_output().split())
        assert any(word in text for word in words), run.read_output()
        assert "containerd failed on host2" in text
        assert "failed on host1" not in text
    finally:
        stage.on("host2", f"umount --lazy {folder}")
    return "it reported it and ended with 5; host1 was served"


def fill_archives(stage: Stage) -> str:
    return fill_disk(stage, "/var/cache/apt/archives", ("enough free space", "No space left"))


def fill_containerd_folder(stage: Stage) -> str:
    return fill_disk(stage, "/etc/containerd", ("No space left",))

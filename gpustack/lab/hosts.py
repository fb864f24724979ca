"""Boot lab hosts with systemd-nspawn, wait for their ssh, stop them, kill them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import gpustack
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import cgroups
from gpustack.lab.commands import attempt, run
from gpustack.lab.state import Host, Record

BOOT_LIMIT = 120.0
STOP_LIMIT = 60.0
# What runc and the kubelet call and nspawn does not allow by itself. Swap, clock and modules are the machine's: a host
# that could change them would turn off the swap of everything else that runs here.
CALLS_ALLOWED = "bpf add_key keyctl request_key perf_event_open"
CALLS_REFUSED = "~swapon swapoff"
CAPABILITIES_REFUSED = "CAP_SYS_TIME,CAP_SYS_MODULE"
# Read by PID 1 as its kernel command line; systemd 256 and later refuse v1 without the second word.
V1_WORDS = ("systemd.unified_cgroup_hierarchy=0", "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1")


def root_of(record: Record, host: Host) -> Path:
    return record.roots / "hosts" / host.name


def running(record: Record, host: Host) -> bool:
    return bool(cgroups.processes(record.group(host.name)))


def nspawn_command(record: Record, host: Host, *, cgroup_version: int, modules: bool) -> list[str]:
    """`modules`: the machine's kernel can load modules, so hosts see its /lib/modules instead of a list of built-in ones."""
    tree = f"/lib/modules/{os.uname().release}"
    words = V1_WORDS if cgroup_version == 1 else ()
    return [
        "systemd-nspawn",
        "--quiet",
        f"--directory={root_of(record, host)}",
        f"--machine=gplab-{record.mark}-{host.name}",
        f"--hostname={host.name}",
        "--register=no",
        "--keep-unit",
        f"--network-bridge={record.bridge}",
        "--capability=all",
        f"--drop-capability={CAPABILITIES_REFUSED}",
        f"--system-call-filter={CALLS_ALLOWED}",
        f"--system-call-filter={CALLS_REFUSED}",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--kill-signal=SIGRTMIN+3",
        "--bind=/dev/kmsg",
        "--bind-ro=/sys/module",
        *([f"--bind-ro={tree}"] if modules else []),
        f"--bind-ro={Path(__file__).with_name('lab-init.sh')}:/.lab-init",
        "--console=pipe",
        "/bin/sh",
        "/.lab-init",
        *words,
    ]


def boot(record: Record, hosts: Iterable[Host]) -> None:
    """Start hosts that do not run; returns at once."""
    modules = Path("/proc/modules").exists()
    for host in hosts:
        if not running(record, host):
            command = nspawn_command(record, host, cgroup_version=cgroups.version(), modules=modules)
            detach(record, host.name, command)


def detach(record: Record, part: str, command: list[str]) -> None:
    """Run `command` in the cgroup of `part`, in a session of its own, its output in the lab's `console` directory."""
    group = record.group(part)
    console = record.state / "console" / f"{part}.log"
    console.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(Path(gpustack.__file__).parents[1]),
        # The kubelet writes /proc/sys/vm and /proc/sys/kernel. A host's /tmp is a directory, as Debian 12 has it.
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
        "SYSTEMD_NSPAWN_TMPFS_TMP": "0",
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1" if cgroups.version() == 2 else "0",
    }
    runner = [sys.executable, "-m", "gpustack.lab.runner", group, *command]
    if cgroups.systemd_manages():
        settings = [f"--setenv={key}={value}" for key, value in environment.items()]
        files = [f"--property=StandardOutput=append:{console}", f"--property=StandardError=append:{console}"]
        unit = [f"--unit={group}", "--collect", "--property=Delegate=yes", "--property=KillMode=mixed"]
        run(["systemd-run", "--quiet", *unit, "--property=TasksMax=infinity", *settings, *files, *runner])
        return
    with console.open("w") as output:
        subprocess.Popen(
            runner, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd="/", start_new_session=True
        )


def wait_for_ssh(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Wait until every host takes a login. Raises LabError with the end of its console when one does not in two minutes."""
    begun = time.monotonic()
    waiting = list(hosts)
    for host in waiting:
        report(Event("waiting", host.name, f"{host.os} boots as {host.address}"))
    while waiting:
        for host in list(waiting):
            if attempt([*ssh(record, host), "true"], limit=20.0).returncode == 0:
                waiting.remove(host)
                report(Event("done", host.name, "takes logins", time.monotonic() - begun))
            elif time.monotonic() - begun > BOOT_LIMIT or (time.monotonic() - begun > 2 and not running(record, host)):
                log = record.state / "console" / f"{host.name}.log"
                end = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
                raise LabError("lab-host-dead", f"lab host {host.name} did not come up", end, f"cat {log}")
        time.sleep(0.05)


def ssh(record: Record, host: Host) -> list[str]:
    return ["ssh", "-F", str(record.state / "ssh_config"), host.name]


def stop(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Shut hosts down as `poweroff` does, all at once; what does not end within a minute is killed."""
    begun = time.monotonic()
    left = [host for host in hosts if running(record, host)]
    for host in left:
        report(Event("waiting", host.name, "shuts down"))
        for pid in cgroups.processes(record.group(host.name)):
            _terminate_nspawn(pid)
    while [host for host in left if running(record, host)] and time.monotonic() - begun < STOP_LIMIT:
        time.sleep(0.05)
    kill(record, left)


def kill(record: Record, hosts: Iterable[Host]) -> None:
    """End every process of the hosts without asking, and remove their cgroups."""
    for host in hosts:
        cgroups.kill(record.group(host.name))
        cgroups.remove(record.group(host.name))


def _terminate_nspawn(pid: int) -> None:
    """nspawn passes SIGTERM on to the host's PID 1 as its signal for powering off."""
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() == "systemd-nspawn":
            os.kill(pid, signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        return  # it ended meanwhile

"""Boot lab hosts, wait for their ssh, stop them, kill them."""

import socket
import time
from collections.abc import Iterable
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack_lab.lab import background, cgroups, containers, network
from gpustack_lab.lab.commands import try_run
from gpustack_lab.lab.state import Host, Record
from gpustack_lab.lab.vm import qemu

# Seconds until a host accepts a login. An emulated host needs minutes, and more on a busy machine.
BOOT_LIMIT, EMULATED_BOOT_LIMIT = 120.0, 900.0
LOGIN_LIMIT, EMULATED_LOGIN_LIMIT = 20.0, 90.0
STOP_LIMIT, EMULATED_STOP_LIMIT = 60.0, 300.0
PRESS_INTERVAL = 10.0
NSPAWN = Path("/run/systemd/nspawn")


def is_running(record: Record, host: Host) -> bool:
    return background.is_running(record, host.name)


def build_ssh_command(record: Record, host: Host) -> list[str]:
    return ["ssh", "-F", str(record.state / "ssh_config"), host.name]


def boot(record: Record, hosts: Iterable[Host]) -> None:
    """Start those hosts that do not run, and return at once."""
    for host in hosts:
        if not is_running(record, host):
            network.drop_links(record.format_link_name(host))
            (qemu if record.vm else containers).start(record, host)


def wait_for_ssh(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Wait until every host takes a login. Raise LabError with the end of its console when one does not in time."""
    start_time = time.monotonic()
    limits = (EMULATED_BOOT_LIMIT, EMULATED_LOGIN_LIMIT) if record.emulated else (BOOT_LIMIT, LOGIN_LIMIT)
    boot_limit, login_limit = limits
    pending_hosts = list(hosts)
    for host in pending_hosts:
        report(Event("waiting", host.name, f"boots {host.os} as {host.address}"))
    while pending_hosts:
        for host in list(pending_hosts):
            elapsed_time = time.monotonic() - start_time
            login = [*build_ssh_command(record, host), "true"]
            if is_listening(host) and try_run(login, limit=login_limit).returncode == 0:
                pending_hosts.remove(host)
                report(Event("done", host.name, "takes logins", time.monotonic() - start_time))
            elif elapsed_time > boot_limit or (elapsed_time > 2 and not is_running(record, host)):
                reason = background.read_last_lines(record, host.name)
                raise LabError(
                    "lab-host-dead",
                    f"Lab host {host.name} did not come up.",
                    reason,
                    Command("cat", str(record.locate_console(host.name))),
                )
        time.sleep(0.05)


def is_listening(host: Host) -> bool:
    """Tell whether sshd answers. An ssh that begins too early would wait a second and more for its next packet."""
    try:
        with socket.create_connection((host.address, 22), timeout=0.2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def stop(record: Record, hosts: Iterable[Host], report: Reporter) -> None:
    """Shut hosts down as `poweroff` does, all at once. Give up after a while; `kill` ends the remaining ones."""
    start_time, limit = time.monotonic(), EMULATED_STOP_LIMIT if record.emulated else STOP_LIMIT
    running_hosts = [host for host in hosts if list_supervisors(record, host)]
    for host in running_hosts:
        report(Event("waiting", host.name, "shuts down"))
        (qemu if record.vm else containers).power_off(record, host)
    press_time = start_time
    while (
        remaining_hosts := [host for host in running_hosts if list_supervisors(record, host)]
    ) and time.monotonic() - start_time < limit:
        if record.vm and time.monotonic() - press_time > PRESS_INTERVAL:
            # Before its systemd-logind is there, a host does not hear the button.
            press_time = time.monotonic()
            for host in remaining_hosts:
                qemu.power_off(record, host)
        time.sleep(0.05)


def list_supervisors(record: Record, host: Host) -> list[int]:
    """List the processes of systemd-nspawn or QEMU of a host. Without one the host cannot be powered off."""
    return background.find(record, host.name, (qemu if record.vm else containers).PROGRAM)


def kill(record: Record, hosts: Iterable[Host]) -> None:
    """End the hosts as a power cut does, all at once, with what systemd-nspawn leaves when it is killed."""
    hosts = list(hosts)
    cgroups.kill(*(record.format_group_name(host.name) for host in hosts))
    for host in hosts:
        background.end(record, host.name)
        qemu.forget(record, host)
        network.drop_links(record.format_link_name(host))
        root, propagate = record.locate_root(host), NSPAWN / "propagate" / record.format_machine_name(host)
        if root.exists():
            status = root.stat()
            (NSPAWN / "locks" / f"inode-{status.st_dev}:{status.st_ino}").unlink(missing_ok=True)
            root.with_name(f".#{host.name}.lck").unlink(missing_ok=True)
        if propagate.is_dir():
            propagate.rmdir()

"""The identity of a host with a copied root: name, address, machine id, host key, and login keys."""

import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack_lab.lab import official_names
from gpustack_lab.lab.commands import run
from gpustack_lab.lab.state import Host, Record

OPS = 1000  # user and group id of the first account that useradd makes in a seed


def make_keys(record: Record) -> None:
    """Create the client key and every host's key, so that all host keys are known before a host boots."""
    directory = record.state / "ssh"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("id_ed25519", *(f"{host.name}_ed25519" for host in record.hosts)):
        if not (directory / name).exists():
            key_comment = f"gpustack-lab-{record.name}"
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key_comment, "-f", str(directory / name)])
    (directory / "known_hosts").write_text("".join(format_known_hosts_line(record, host) for host in record.hosts))
    (record.state / "ssh_config").write_text(render_ssh_config(record))


def render_ssh_config(record: Record) -> str:
    """Render the file for `ssh -F`: names of the hosts, and the same settings for names and addresses."""
    names = [(host.name, host.address) for host in record.hosts]
    names += [(extra.name, extra.address) for extra in record.addresses]
    directory = record.state / "ssh"
    return "".join(f"Host {name}\n  HostName {address}\n" for name, address in names) + (
        "Host *\n"
        "  User ops\n"
        f"  IdentityFile {directory / 'id_ed25519'}\n"
        "  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {directory / 'known_hosts'}\n"
        "  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n"
        "  UpdateHostKeys no\n"
        "  ConnectTimeout 10\n"
        "  LogLevel ERROR\n"
    )


def format_known_hosts_line(record: Record, host: Host) -> str:
    kind, key, *_ = (record.state / "ssh" / f"{host.name}_ed25519.pub").read_text().split()
    names = [host.name, host.address]
    for extra in record.addresses:
        if extra.host == host.name:
            names += [extra.name, extra.address]
    return f"{','.join(names)} {kind} {key}\n"


# At boot udev asks the kernel to announce all devices once more. Those are the machine's, and each one is heard
# by the machine and by all hosts of all labs; only links are a host's own, and networkd waits for theirs.
COLD_PLUG = "[Service]\nExecStart=\nExecStart=-udevadm trigger --action=add --subsystem-match=net\n"


def give_identity(record: Record, host: Host, root: Path) -> None:
    """Write the host's own files into `root`. A root that has a machine id keeps it."""
    keys = record.state / "ssh"
    (root / "etc/hostname").write_text(f"{host.name}\n")
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{host.address} {host.name}\n")
    if record.internet:
        official_names.install_names(record, root)
    (root / "etc/resolv.conf").write_text(read_nameservers())
    if not (root / "etc/machine-id").read_text().strip():
        (root / "etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    for suffix, mode in (("", 0o600), (".pub", 0o644)):
        shutil.copyfile(keys / f"{host.name}_ed25519{suffix}", root / f"etc/ssh/ssh_host_ed25519_key{suffix}")
        (root / f"etc/ssh/ssh_host_ed25519_key{suffix}").chmod(mode)
    home = root / "home/ops/.ssh"
    home.mkdir(mode=0o700, exist_ok=True)
    shutil.copyfile(keys / "id_ed25519.pub", home / "authorized_keys")
    for path in (home, home / "authorized_keys"):
        shutil.chown(path, OPS, OPS)
    extra = [extra.address for extra in record.addresses if extra.host == host.name]
    if extra:
        # One sshd stands for many hosts; by default it drops logins at random when ten begin at once.
        (root / "etc/ssh/sshd_config.d/20-many-addresses.conf").write_text("MaxStartups 1000\n")
    addresses = [host.address, *extra]
    # systemd-nspawn calls a container's link host0; a machine's is the only one of its kind.
    link = "Driver=virtio_net" if record.vm else "Name=host0"
    (root / "etc/systemd/network/10-host0.network").write_text(render_network_unit(link, record.gateway, addresses))
    if not record.vm:
        drop_in = root / "etc/systemd/system/systemd-udev-trigger.service.d/own-links.conf"
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text(COLD_PLUG)


def render_network_unit(link: str, gateway: str, addresses: Iterable[str]) -> str:
    lines = "".join(f"Address={address}/24\n" for address in addresses)
    return f"[Match]\n{link}\n[Network]\n{lines}Gateway={gateway}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"


def read_nameservers() -> str:
    """Read resolv.conf for a host: the machine's own servers, behind its local resolver if it has one.

    Raise LabError when all of them are loopback addresses, which mean nothing inside a host.
    """
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        servers = parse_nameservers(path.read_text()) if path.exists() else ""
        if servers:
            return servers
    raise LabError(
        "lab-no-nameserver",
        "The machine's name servers cannot be reached from a lab host.",
        "Every nameserver in /etc/resolv.conf is a loopback address.",
        Command("cat", "/etc/resolv.conf"),
    )


def parse_nameservers(resolv_conf: str) -> str:
    """Parse the nameserver lines that do not name a loopback address."""
    words = (line.split() for line in resolv_conf.splitlines())
    servers = [pair[1] for pair in words if len(pair) == 2 and pair[0] == "nameserver"]
    return "".join(f"nameserver {server}\n" for server in servers if not server.startswith("127.") and server != "::1")

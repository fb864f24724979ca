"""Options of ssh(1) for a host: `ssh -G` resolves the user's configuration and Ansible's arguments alike."""

import os.path
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport.refusal import HostRefused
from gpustack.command import Command
from gpustack.config.host import Host


@dataclass(frozen=True)
class SshOptions:
    hostname: str
    port: int
    user: str
    key_files: tuple[str, ...]
    known_hosts: tuple[Path, ...]
    host_key_alias: str
    proxy_command: str
    identities_only: bool
    agent: bool

    @property
    def address(self) -> str:
        """The address and, unless it is 22, the port."""
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"

    @property
    def known_name(self) -> str:
        """The name of the host in known_hosts; an alias replaces address and port (ssh_config(5), HostKeyAlias)."""
        return self.host_key_alias or self.address

    @property
    def destination(self) -> tuple[str, ...]:
        """The port and destination, as words after ssh."""
        return (*self.port_arguments, f"{self.user}@{self.hostname}")

    @property
    def port_arguments(self) -> tuple[str, ...]:
        return ("-p", str(self.port)) if self.port != 22 else ()

    def build_keygen_command(self, action: str, note: LiteralString) -> Command:
        """Build a command of ssh-keygen with -F or -R, for this host's port and in the file where its key is kept. The
        address alone would name the key of whoever answers on port 22 there."""
        default = not self.known_hosts or self.known_hosts[0] == Path(expand_home("~/.ssh/known_hosts"))
        file = () if default else ("-f", str(self.known_hosts_file))
        return Command("ssh-keygen", action, self.known_name, *file, note=note)

    @property
    def known_hosts_file(self) -> Path:
        """The file that ssh(1) adds keys to."""
        return self.known_hosts[0] if self.known_hosts else Path(expand_home("~/.ssh/known_hosts"))

    def find_key_files(self) -> tuple[str, ...]:
        """Find the key files that exist. ssh(1) lists default keys whether or not they exist."""
        return tuple(path for path in self.key_files if Path(path).is_file())

    def read_fingerprints(self) -> frozenset[str]:
        """Read the fingerprints of the keys in the key files. ssh-keygen(1) knows those of an encrypted or public file
        too."""
        paths = [path for file in self.key_files for path in (file, f"{file}.pub") if Path(path).is_file()]
        commands = (["ssh-keygen", "-l", "-E", "sha256", "-f", path] for path in paths)
        outputs = (
            subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=False).stdout
            for command in commands
        )
        return frozenset(word for line in outputs for word in line.split()[1:2])


def build_arguments(host: Host) -> list[str]:
    """Build the arguments of ssh as Ansible does: its own arguments first, then port, key and user."""
    args = list(host.ssh_args)
    args += ["-p", str(host.port)] if host.port else []
    args += ["-i", host.key_file] if host.key_file else []
    args += ["-l", host.user] if host.user else []
    return args


def build_login_command(host: Host) -> Command:
    """Build the command that a person types to try the login, with all that the inventory says of it."""
    return Command("ssh", *build_arguments(host), host.address, "true")


def resolve_options(host: Host) -> SshOptions:
    """Resolve the options of ssh(1) for a host. It takes a few milliseconds and makes no connection.

    Raise HostRefused where ssh(1) does not accept the arguments.
    """
    command = ["ssh", "-G", *build_arguments(host), host.address]
    try:
        completed_process = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=10, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise HostRefused(
            Reach(
                host.name,
                "ssh-missing",
                "there is no ssh on this machine",
                Command("apt-get", "install", "openssh-client"),
            )
        ) from error
    if completed_process.returncode != 0:
        raise HostRefused(Reach(host.name, "ssh-options", completed_process.stderr.strip(), Command(*command)))
    values: dict[str, list[str]] = {}
    for line in completed_process.stdout.splitlines():
        key, _, value = line.partition(" ")
        values.setdefault(key, []).append(value)

    def find_value(key: str) -> str:
        value = values.get(key, [""])[0]
        return "" if value == "none" else value

    port = find_value("port") or "22"
    if not (port.isascii() and port.isdigit() and 0 < int(port[:9]) < 65536):
        raise HostRefused(Reach(host.name, "ssh-options", f"ssh says that the port is {port[:40]}", Command(*command)))
    files = (*find_value("userknownhostsfile").split(), *find_value("globalknownhostsfile").split())
    return SshOptions(
        hostname=find_value("hostname") or host.address,
        port=int(port[:9]),
        user=find_value("user"),
        key_files=tuple(expand_home(path) for path in values.get("identityfile", [])),
        known_hosts=tuple(Path(expand_home(path)) for path in files if path != "/dev/null"),
        host_key_alias=find_value("hostkeyalias"),
        proxy_command=find_value("proxycommand") or build_jump_command(find_value("proxyjump"), host),
        identities_only=find_value("identitiesonly") == "yes",
        agent=find_value("identityagent").lower() != "none",
    )


def expand_home(path: str) -> str:
    """Expand `~` as ssh does. A path of a user who does not exist stays as it is."""
    return os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises for such a user


def build_jump_command(proxy_jump: str, host: Host) -> str:
    """Build the proxy command that ssh(1) itself uses for a jump host, whose host key ssh checks."""
    if not proxy_jump:
        return ""
    config = [word for flag, word in zip(host.ssh_args, host.ssh_args[1:], strict=False) if flag == "-F"]
    before, _, last = proxy_jump.rpartition(",")
    jump_option = f"-J {before} " if before else ""
    return f"ssh {f'-F {config[0]} ' if config else ''}{jump_option}-o BatchMode=yes -W '[%h]:%p' {format_target(last)}"


def format_target(text: str) -> str:
    """Format `user@name:port` as ssh takes it without a URI."""
    name, colon, port = text.rpartition(":")
    return f"-p {port} {name}" if colon and port.isdigit() else text

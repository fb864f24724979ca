"""The ansible.cfg in force: the few settings that say which hosts and how they are reached.

Search order of Ansible (docs: "Ansible Configuration Settings"): ANSIBLE_CONFIG, ./ansible.cfg, ~/.ansible.cfg,
/etc/ansible/ansible.cfg. Ansible skips ./ansible.cfg in a world-writable directory, and so do we; one that belongs to
somebody else, or that all may write, is skipped besides, as it names programs to run. Ansible gets the
same one by ANSIBLE_CONFIG.
"""

import os
import stat
from collections.abc import Mapping
from configparser import ConfigParser, ParsingError
from dataclasses import dataclass
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import ConfigError
from gpustack.files.read import read_text

EMPTY = Path(__file__).with_name("empty.cfg")


@dataclass(frozen=True)
class AnsibleCfg:
    """Values as Ansible would take them: the environment before the file. Empty strings where unset."""

    path: Path | None
    inventory: str
    remote_user: str
    private_key_file: str
    ssh_args: str
    remote_port: str = ""
    transport: str = ""
    become_method: str = ""
    become_user: str = ""
    become_exe: str = ""
    remote_tmp: str = ""
    ssh_extra_args: str = ""
    ssh_retries: str = ""
    ignored: str = ""


def in_force(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> Path | None:
    here = cwd or Path.cwd()
    if named := env.get("ANSIBLE_CONFIG"):
        path = Path(named).expanduser()
        return path / "ansible.cfg" if path.is_dir() else path
    local = here / "ansible.cfg"
    if local.is_file() and not distrusted(local, env):
        return local
    others = (Path(env.get("HOME", "/nonexistent")) / ".ansible.cfg", Path("/etc/ansible/ansible.cfg"))
    return next((path for path in others if path.is_file()), None)


def distrusted(path: Path, env: Mapping[str, str]) -> str:
    """Why somebody else may have written it; else an empty string."""
    if (other := owner(path, env)) is not None:
        return f"belongs to user {other}"
    if path.stat().st_mode & stat.S_IWOTH:
        return "may be written by all users"
    return "is in a folder that all users may write to" if path.parent.stat().st_mode & stat.S_IWOTH else ""


def owner(path: Path, env: Mapping[str, str]) -> int | None:
    """Whose it is, where that is neither root nor the user; behind sudo the user is who called it as well, as for git
    (git-config(1), safe.directory)."""
    user = os.getuid()
    caller = env.get("SUDO_UID", "")
    known = {0, user, int(caller) if user == 0 and caller.isdecimal() else user}
    return next((uid for uid in (path.lstat().st_uid, path.stat().st_uid) if uid not in known), None)


def disregarded(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> str:
    """That the ansible.cfg of the current folder does not count, and why; else an empty string."""
    local = (cwd or Path.cwd()) / "ansible.cfg"
    why = distrusted(local, env) if local.is_file() and not env.get("ANSIBLE_CONFIG") else ""
    return f"{local} {why} and does not count" if why else ""


def for_ansible(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> dict[str, str]:
    """The variable that has Ansible use the file in force and look for no other."""
    path = in_force(env, cwd)
    return {"ANSIBLE_CONFIG": str((path if path and path.is_file() else EMPTY).absolute())}


def ansible_cfg(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> AnsibleCfg:
    """Relative paths in the file are relative to the file, as Ansible reads them."""
    path = in_force(env, cwd)
    parser = ConfigParser(interpolation=None, strict=False)
    if path and path.is_file():
        try:
            parser.read_string(read_text(path), str(path))
        except (OSError, ParsingError, UnicodeDecodeError) as error:
            why = str(error).strip()
            raise ConfigError(
                "ansible-cfg-unreadable", f"{path} cannot be read.", why, Command("ansible-config", "view")
            ) from error
    base = path.parent if path else Path()

    def setting(section: str, key: str, variable: str = "") -> str:
        return env.get(variable, "") or parser.get(section, key, fallback="").strip()

    inventory = parser.get("defaults", "inventory", fallback="").strip()
    key = setting("defaults", "private_key_file", "ANSIBLE_PRIVATE_KEY_FILE")
    kinds = ("", "common_", "extra_")
    args = (setting("ssh_connection", f"ssh_{kind}args", f"ANSIBLE_SSH_{kind.upper()}ARGS") for kind in kinds)
    return AnsibleCfg(
        path=path,
        inventory=env.get("ANSIBLE_INVENTORY", "") or (str(base / Path(inventory).expanduser()) if inventory else ""),
        remote_user=setting("defaults", "remote_user", "ANSIBLE_REMOTE_USER"),
        private_key_file=str(base / Path(key).expanduser()) if key else "",
        ssh_args=" ".join(arg for arg in args if arg),
        remote_port=setting("defaults", "remote_port", "ANSIBLE_REMOTE_PORT"),
        transport=setting("defaults", "transport", "ANSIBLE_TRANSPORT"),
        become_method=setting("privilege_escalation", "become_method", "ANSIBLE_BECOME_METHOD"),
        become_user=setting("privilege_escalation", "become_user", "ANSIBLE_BECOME_USER"),
        become_exe=env.get("ANSIBLE_SUDO_EXE", "")
        or setting("sudo_become_plugin", "executable", "ANSIBLE_BECOME_EXE")
        or setting("privilege_escalation", "become_exe"),
        remote_tmp=setting("defaults", "remote_tmp", "ANSIBLE_REMOTE_TEMP"),
        ssh_extra_args=setting("ssh_connection", "ssh_extra_args", "ANSIBLE_SSH_EXTRA_ARGS"),
        ssh_retries=setting("ssh_connection", "retries", "ANSIBLE_SSH_RETRIES") or setting("connection", "retries"),
        ignored=setting("defaults", "inventory_ignore_patterns", "ANSIBLE_INVENTORY_IGNORE_REGEX")
        or setting("inventory", "ignore_patterns"),
    )

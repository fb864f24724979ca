"""The ansible.cfg in force: the few settings that say which hosts and how they are reached.

Ansible searches ANSIBLE_CONFIG, ./ansible.cfg, ~/.ansible.cfg, /etc/ansible/ansible.cfg (docs: "Ansible Configuration
Settings"). It skips ./ansible.cfg in a world-writable directory, and so does gpustack. A file that belongs to somebody
else, or that all users may write, is skipped as well, since it names programs to run. Ansible receives the same file by
ANSIBLE_CONFIG.
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
LOCALE = "C.UTF-8"
"""Ansible ends at once where the locale is not UTF-8 or not on the machine (`ansible.cli.initialize_locale`). This one
is a part of glibc's packages, so it is there where no other one was generated."""


@dataclass(frozen=True)
class AnsibleCfg:
    """Hold settings as Ansible takes them: the environment before the file. An unset one is an empty string."""

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
    ignore_patterns: str = ""


def find_cfg_file(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> Path | None:
    """Find the file in force. Return None where there is none."""
    folder = cwd or Path.cwd()
    if cfg_path := env.get("ANSIBLE_CONFIG"):
        path = Path(cfg_path).expanduser()
        return path / "ansible.cfg" if path.is_dir() else path
    local = folder / "ansible.cfg"
    if local.is_file() and not explain_distrust(local, env):
        return local
    fallbacks = (Path(env.get("HOME", "/nonexistent")) / ".ansible.cfg", Path("/etc/ansible/ansible.cfg"))
    return next((path for path in fallbacks if path.is_file()), None)


def explain_distrust(path: Path, env: Mapping[str, str]) -> str:
    """Explain why somebody else may have written the file. Return an empty string where nobody else may."""
    if (owner := find_foreign_owner(path, env)) is not None:
        return f"belongs to user {owner}"
    if path.stat().st_mode & stat.S_IWOTH:
        return "may be written by all users"
    return "is in a directory that all users may write to" if path.parent.stat().st_mode & stat.S_IWOTH else ""


def find_foreign_owner(path: Path, env: Mapping[str, str]) -> int | None:
    """Find the owner of a file, where that is neither root nor the user. Behind sudo the caller counts as the user too,
    as for git (git-config(1), safe.directory)."""
    user = os.getuid()
    caller = env.get("SUDO_UID", "")
    trusted_uids = {0, user, int(caller) if user == 0 and caller.isdecimal() else user}
    return next((uid for uid in (path.lstat().st_uid, path.stat().st_uid) if uid not in trusted_uids), None)


def explain_disregard(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> str:
    """Explain why the ansible.cfg of the current folder does not count. Return an empty string where it does, or where
    there is none."""
    local = (cwd or Path.cwd()) / "ansible.cfg"
    reason = explain_distrust(local, env) if local.is_file() and not env.get("ANSIBLE_CONFIG") else ""
    return f"{local} {reason} and does not count" if reason else ""


def build_environment(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> dict[str, str]:
    """Build the variables with which Ansible uses the file in force, looks for no other, and starts in any locale."""
    path = find_cfg_file(env, cwd)
    return {"ANSIBLE_CONFIG": str((path if path and path.is_file() else EMPTY).absolute()), "LC_ALL": LOCALE}


def read_ansible_cfg(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> AnsibleCfg:
    """Read the settings in force. Relative paths in the file are relative to the file, as for Ansible. Raise
    ConfigError."""
    path = find_cfg_file(env, cwd)
    parser = ConfigParser(interpolation=None, strict=False)
    if path and path.is_file():
        try:
            parser.read_string(read_text(path), str(path))
        except (OSError, ParsingError, UnicodeDecodeError) as error:
            reason = str(error).strip()
            raise ConfigError(
                "ansible-cfg-unreadable", f"{path} cannot be read.", reason, Command("ansible-config", "view")
            ) from error
    base = path.parent if path else Path()

    def select_setting(section: str, key: str, variable: str = "") -> str:
        return env.get(variable, "") or parser.get(section, key, fallback="").strip()

    inventory = parser.get("defaults", "inventory", fallback="").strip()
    key = select_setting("defaults", "private_key_file", "ANSIBLE_PRIVATE_KEY_FILE")
    kinds = ("", "common_", "extra_")
    args = (select_setting("ssh_connection", f"ssh_{kind}args", f"ANSIBLE_SSH_{kind.upper()}ARGS") for kind in kinds)
    return AnsibleCfg(
        path=path,
        inventory=env.get("ANSIBLE_INVENTORY", "") or (str(base / Path(inventory).expanduser()) if inventory else ""),
        remote_user=select_setting("defaults", "remote_user", "ANSIBLE_REMOTE_USER"),
        private_key_file=str(base / Path(key).expanduser()) if key else "",
        ssh_args=" ".join(arg for arg in args if arg),
        remote_port=select_setting("defaults", "remote_port", "ANSIBLE_REMOTE_PORT"),
        transport=select_setting("defaults", "transport", "ANSIBLE_TRANSPORT"),
        become_method=select_setting("privilege_escalation", "become_method", "ANSIBLE_BECOME_METHOD"),
        become_user=select_setting("privilege_escalation", "become_user", "ANSIBLE_BECOME_USER"),
        become_exe=env.get("ANSIBLE_SUDO_EXE", "")
        or select_setting("sudo_become_plugin", "executable", "ANSIBLE_BECOME_EXE")
        or select_setting("privilege_escalation", "become_exe"),
        remote_tmp=select_setting("defaults", "remote_tmp", "ANSIBLE_REMOTE_TEMP"),
        ssh_extra_args=select_setting("ssh_connection", "ssh_extra_args", "ANSIBLE_SSH_EXTRA_ARGS"),
        ssh_retries=select_setting("ssh_connection", "retries", "ANSIBLE_SSH_RETRIES")
        or select_setting("connection", "retries"),
        ignore_patterns=select_setting("defaults", "inventory_ignore_patterns", "ANSIBLE_INVENTORY_IGNORE_REGEX")
        or select_setting("inventory", "ignore_patterns"),
    )

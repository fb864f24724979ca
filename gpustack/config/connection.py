"""How a host is reached, from Ansible's connection variables: honoured alike by probes and plays, or refused."""

import shlex
from collections.abc import Mapping
from typing import Any

from gpustack.config.ansible_cfg import AnsibleCfg
from gpustack.config.complaint import Complaint

# Arguments of ssh(1) that only set options: `ssh -G` resolves them, so the probes see what Ansible's ssh sees.
WITH_VALUE, ALONE = ("-o", "-F", "-J", "-i", "-p", "-l", "-b"), ("-4", "-6", "-C", "-A", "-a", "-q")
REFUSED = {
    "ansible_password": "a key or an agent; passwords for SSH are not taken",
    "ansible_ssh_pass": "a key or an agent; passwords for SSH are not taken",
    "ansible_ssh_executable": "the ssh of the PATH",
}


def connection(
    file: str, name: str, given: Mapping[str, Any], cfg: AnsibleCfg, password: str | None
) -> tuple[dict[str, Any], list[Complaint]]:
    """Fields of Host without groups and spec; and what cannot be honoured."""
    where = f"{file}, host {name}"
    found = [
        Complaint(where, key, "a value", allowed, "connection-unsupported") for key, allowed in REFUSED.items() if given.get(key)
    ]

    def said(*keys: str, default: Any = None) -> Any:
        return next((given[key] for key in keys if given.get(key) not in (None, "")), default)

    kind = said("ansible_connection", default="ssh")
    if kind in ("smart", "ansible.builtin.ssh", "ansible.builtin.local"):
        kind = "local" if kind.endswith("local") else "ssh"
    if kind not in ("ssh", "local"):
        found.append(Complaint(where, "ansible_connection", kind, "ssh or local", "connection-unsupported"))
    method, become_user = said("ansible_become_method", default="sudo"), said("ansible_become_user", default="root")
    if method not in ("sudo", "ansible.builtin.sudo"):
        found.append(Complaint(where, "ansible_become_method", method, "sudo", "connection-unsupported"))
    if become_user != "root":
        found.append(Complaint(where, "ansible_become_user", become_user, "root", "connection-unsupported"))
    args: tuple[str, ...] = ()
    try:
        parts = (cfg.ssh_args, said("ansible_ssh_args"), said("ansible_ssh_common_args"), said("ansible_ssh_extra_args"))
        args = tuple(word for part in parts if part for word in shlex.split(str(part)))
        if odd := unsupported(args):
            found.append(Complaint(where, "ansible_ssh_common_args", odd, "arguments that set ssh options", "connection-unsupported"))
    except ValueError as error:
        found.append(Complaint(where, "ansible_ssh_common_args", str(error), "arguments that a shell can split"))
    port = said("ansible_port", "ansible_ssh_port")
    if port is not None and not (str(port).isdigit() and 0 < int(port) < 65536):
        found.append(Complaint(where, "ansible_port", repr(port), "a port number"))
        port = None
    secret = said("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")
    if isinstance(secret, Mapping):
        found.append(Complaint(where, "ansible_become_password", "a single vaulted value", "a vaulted file, or -K", "become-vaulted-value"))
        secret = None
    key_file = said("ansible_ssh_private_key_file", "ansible_private_key_file", default=cfg.private_key_file or None)
    fields = {
        "name": name,
        "address": str(said("ansible_host", "ansible_ssh_host", default=name)),
        "connection": kind,
        "port": int(port) if port is not None else None,
        "user": said("ansible_user", "ansible_ssh_user", default=cfg.remote_user or None),
        "key_file": str(key_file) if key_file else None,
        "ssh_args": args,
        "become": True,
        "become_password": password or secret,
        "python": said("ansible_python_interpreter"),
    }
    return fields, found


def unsupported(args: tuple[str, ...]) -> str:
    """The first argument that is more than an option, or an empty string."""
    rest = iter(args)
    for arg in rest:
        if arg in WITH_VALUE:
            next(rest, None)
        elif arg not in ALONE and not arg.startswith(WITH_VALUE):
            return arg
    return ""

"""The connection to a host, from Ansible's variables: honoured alike by probes and plays, or refused."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.complaint import Complaint
from gpustack.config.endpoint import detect_address

# Arguments of ssh(1) that only set options: `ssh -G` resolves them, so the probes see what Ansible's ssh sees.
VALUE_OPTIONS, FLAG_OPTIONS = ("-o", "-F", "-J", "-i", "-p", "-l", "-b"), ("-4", "-6", "-C", "-A", "-a", "-q")
KEYS_ONLY = "a key or an agent; passwords for SSH are not taken"
REFUSED_VARIABLES = {
    "ansible_password": KEYS_ONLY,
    "ansible_ssh_pass": KEYS_ONLY,
    "ansible_ssh_password": KEYS_ONLY,
    "ansible_ssh_executable": "the ssh of the PATH",
    "ansible_become_flags": "sudo without flags of yours",
}
PASSWORD = ("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")
ADDRESS, PORT, USER = (
    ("ansible_host", "ansible_ssh_host"),
    ("ansible_port", "ansible_ssh_port"),
    ("ansible_user", "ansible_ssh_user"),
)
KEY_FILE = ("ansible_ssh_private_key_file", "ansible_private_key_file")
ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
# The first wins (tried with ansible-core 2.19.14). Ubuntu 26.04 has sudo-rs as sudo, and the other one as sudo.ws.
EXE = ("ansible_sudo_exe", "ansible_become_exe")
SUDOS = ("sudo", "sudo.ws", "/usr/bin/sudo", "/usr/bin/sudo.ws")
METHOD, BECOME_USER, PYTHON = "ansible_become_method", "ansible_become_user", "ansible_python_interpreter"
LOGIN = (*ADDRESS, *PORT, *USER, *KEY_FILE, *ARGUMENTS)
READ_VARIABLES = ("ansible_connection", *LOGIN, METHOD, BECOME_USER, *EXE, *PASSWORD, PYTHON)


def is_secret(key: str) -> bool:
    """Tell whether the value of a key may not be shown."""
    return "pass" in key.lower()


def name_variable(key: str, variables: Mapping[str, Any]) -> str:
    """Return the name under which a host has a variable that has several, and the key itself where it has none."""
    names = next((names for names in (ADDRESS, PORT, KEY_FILE, EXE, ARGUMENTS) if key in names), (key,))
    return next((name for name in names if variables.get(name) not in (None, "")), key)


def parse_connection(
    name: str, variables: Mapping[str, Any], cfg: AnsibleCfg, password: str | None
) -> tuple[dict[str, Any], list[Complaint]]:
    """Parse the fields of Host without groups and spec. Return them with complaints about settings that cannot be
    honoured."""
    complaints = [
        Complaint("", key, "a value", rule, "connection-unsupported")
        for key, rule in REFUSED_VARIABLES.items()
        if variables.get(key)
    ]

    def select_setting(*keys: str, default: Any = None) -> Any:
        return next((variables[key] for key in keys if variables.get(key) not in (None, "")), default)

    kind = select_setting("ansible_connection", default=cfg.transport or "ssh")
    if kind in ("smart", "ansible.builtin.ssh", "ansible.builtin.local"):
        kind = "local" if kind.endswith("local") else "ssh"
    method = str(select_setting(METHOD, default=cfg.become_method or "sudo")).removeprefix("ansible.builtin.")
    become_user = select_setting(BECOME_USER, default=cfg.become_user or "root")
    become_exe = str(select_setting(*EXE, default=cfg.become_exe or "sudo"))
    for key, value, choices in (
        ("ansible_connection", kind, ("ssh", "local")),
        (METHOD, method, ("sudo",)),
        (BECOME_USER, become_user, ("root",)),
        ("ansible_become_exe", become_exe, SUDOS),
    ):
        if value not in choices:
            complaints.append(Complaint("", key, str(value), " or ".join(choices), "connection-unsupported"))
    args, wrong = parse_arguments([cfg.ssh_args, *(select_setting(key) for key in ARGUMENTS)])
    port = select_setting(*PORT, default=cfg.remote_port or None)
    if port is not None and not (str(port).isdigit() and 0 < int(port) < 65536):
        wrong.append(Complaint("", "ansible_port", repr(port), "a port number, 1 to 65535"))
        port = None
    key_file = select_setting(*KEY_FILE, default=cfg.private_key_file or None)
    # As for Ansible, whose variables win over -K (docs: "Controlling how Ansible behaves: precedence rules").
    become_password = select_setting(*PASSWORD, default=password)
    # Ansible reaches this machine without an address, so whatever stands there may be anything.
    address = detect_address() if kind == "local" else str(select_setting(*ADDRESS, default=name))
    if address.startswith("-"):  # ssh(1) would take it for an option
        wrong.append(Complaint("", "ansible_host", repr(address), "a name or an address"))
    fields = {
        "name": name,
        "address": address,
        "connection": kind,
        "port": int(port) if port is not None else None,
        "user": select_setting(*USER, default=cfg.remote_user or None),
        "key_file": str(key_file) if key_file else None,
        "ssh_args": args,
        "become": True,
        "become_exe": become_exe,
        "become_password": str(become_password) if become_password else None,
        "python": select_setting(PYTHON),
    }
    return fields, complaints + wrong


def parse_arguments(parts: Sequence[Any]) -> tuple[tuple[str, ...], list[Complaint]]:
    """Parse the arguments of ssh(1) in the order in which Ansible gives them."""
    key, rule = "ansible_ssh_common_args", "arguments that set ssh options"
    try:
        args = tuple(word for part in parts if part for word in shlex.split(str(part)))
    except ValueError as error:
        return (), [Complaint("", key, str(error), "arguments that a shell can split")]
    if unsupported_argument := find_unsupported(args):
        return (), [Complaint("", key, unsupported_argument, rule, "connection-unsupported")]
    return args, []


def find_unsupported(args: tuple[str, ...]) -> str:
    """Find the first argument that is more than an option. Return an empty string where there is none."""
    rest = iter(args)
    for arg in rest:
        if arg in VALUE_OPTIONS:
            next(rest, None)
        elif arg not in FLAG_OPTIONS and not arg.startswith(VALUE_OPTIONS):
            return arg
    return ""

"""Other users of lab hosts than `ops`, with its key: one who may nothing, and one whom sudo asks for a password."""

from gpustack_lab import lab
from tests.lab.firewalls import run_as_root

PASSWORD = "correct horse battery"
ASKED = "asked"


def add_user(running_lab: lab.Lab, host: str, name: str) -> None:
    folder = f"/home/{name}/.ssh"
    run_as_root(
        running_lab,
        host,
        f"""set -e
useradd -m -s /bin/bash {name}
install -d -m 700 -o {name} {folder}
install -o {name} ~ops/.ssh/authorized_keys {folder}""",
        limit=30,
    )


def add_user_with_password(running_lab: lab.Lab, host: str) -> None:
    """Add the user ASKED, with PASSWORD."""
    add_user(running_lab, host, ASKED)
    run_as_root(
        running_lab,
        host,
        f"echo '{ASKED}:{PASSWORD}' | chpasswd && echo '{ASKED} ALL=(ALL) ALL' >/etc/sudoers.d/{ASKED}",
        30,
    )

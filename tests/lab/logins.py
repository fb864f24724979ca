"""Other users of lab hosts than `ops`, with its key: one who may nothing, and one whom sudo asks for a password."""

from gpustack_lab import lab
from tests.lab.firewalls import run_as_root

PASSWORD = "correct horse battery"
QUESTION = "asked"


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
    add_user(running_lab, host, QUESTION)
    run_as_root(
        running_lab,
        host,
        f"echo '{QUESTION}:{PASSWORD}' | chpasswd && echo '{QUESTION} ALL=(ALL) ALL' >/etc/sudoers.d/{QUESTION}",
        30,
    )

"""IdentitiesOnly of ssh_config(5): of an agent's keys only those are offered that an IdentityFile names."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest

from gpustack.ask.transport.execute import Command, execute_command
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host


class Server(paramiko.ServerInterface):  # type: ignore[misc] # Paramiko has no types
    """Takes no key and notes which were offered."""

    def __init__(self) -> None:
        self.offered_keys: set[str] = set()

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self.offered_keys.add(key.fingerprint)
        return int(paramiko.AUTH_FAILED)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """`agent(name)` makes a key of this name, has a real agent hold it and returns its fingerprint."""
    path = str(tmp_path / "agent")
    monkeypatch.setenv("SSH_AUTH_SOCK", path)
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()  # it listens

    def add(name: str) -> str:
        file = str(tmp_path / name)
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file]
        for command in (make, ["ssh-add", "-q", file]):
            subprocess.run(command, check=True, capture_output=True, timeout=30)
        return str(paramiko.Ed25519Key.from_private_key_file(file).fingerprint)

    yield add
    process.terminate()
    process.wait()
    process.stdout.close()


def offer(folder: Path, identities_only: str) -> tuple[set[str], str]:
    """Return what is offered with the key file `named`, and why the login fails."""
    key, server = paramiko.RSAKey.generate(2048), Server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")

        def serve() -> None:
            transport = paramiko.Transport(listener.accept()[0])
            transport.add_server_key(key)
            transport.start_server(event=threading.Event(), server=server)

        threading.Thread(target=serve, daemon=True).start()
        words: tuple[str, ...] = ("-F", "/dev/null", "-o", f"UserKnownHostsFile={folder}/known_hosts")
        words += ("-o", f"IdentitiesOnly={identities_only}", "-o", f"IdentityFile={folder}/named")
        host = Host("h1", "127.0.0.1", port=port, user="ops", ssh_args=words)
        with pytest.raises(HostRefused) as excinfo:
            list(execute_command(host, Command("true", b"")))
    assert excinfo.value.reach.reference == "host-ssh-login"
    return server.offered_keys, excinfo.value.reach.reason.replace(str(port), "PORT")


def encrypt(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(file)], check=True, timeout=30)
    file.with_suffix(".pub").unlink()


@pytest.mark.parametrize("change", [encrypt, Path.unlink], ids=["encrypted", "public file alone"])
def test_only_the_named_key_of_the_agent_is_offered(
    agent: Callable[[str], str], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    named_agent, other_agent = agent("named"), agent("other")
    change(tmp_path / "named")
    assert offer(tmp_path, "yes")[0] == {named_agent}
    assert offer(tmp_path, "no")[0] == {named_agent, other_agent}


def test_a_key_that_the_agent_lacks_is_to_be_added(agent: Callable[[str], str], tmp_path: Path) -> None:
    agent("other")
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(tmp_path / "named")]
    subprocess.run(make, check=True, timeout=30)
    offered_keys, reason = offer(tmp_path, "yes")
    assert (offered_keys, reason) == (set(), "the key is encrypted and no agent holds it")


def test_where_there_is_no_key_to_offer_the_login_fails(agent: Callable[[str], str], tmp_path: Path) -> None:
    agent("other")
    assert offer(tmp_path, "yes") == (set(), "ops@[127.0.0.1]:PORT was refused with every key")

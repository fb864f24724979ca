"""A forwarded port: bytes and ends in both directions, many connections at once, and no port after the end."""

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest

from gpustack.ask.transport.forward import LOCAL_ADDRESS, PortForwarder, dial_directly, open_forwarder, relay
from gpustack.config.host import Host


@pytest.fixture
def echo() -> Iterator[int]:
    """Answer what it received, in capitals, once the other side has ended."""
    server = socket.create_server((LOCAL_ADDRESS, 0))

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    def answer(client: socket.socket) -> None:
        with client:
            received_bytes = b""
            while data := client.recv(65536):
                received_bytes += data
            client.sendall(received_bytes.upper())

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def request(address: tuple[str, int], text: bytes) -> bytes:
    with socket.create_connection(address, timeout=10) as stream:
        stream.sendall(text)
        # The far end may have closed it already.
        with contextlib.suppress(OSError):
            stream.shutdown(socket.SHUT_WR)
        received_bytes = b""
        while data := stream.recv(65536):
            received_bytes += data
        return received_bytes


def test_many_connections_at_once_carry_both_directions(echo: int) -> None:
    forwarder = PortForwarder(dial_directly)
    local = forwarder.forward(LOCAL_ADDRESS, echo)
    assert local != (LOCAL_ADDRESS, echo)
    received_texts: dict[int, bytes] = {}
    texts = {index: bytes([97 + index]) * 300_000 for index in range(8)}
    talks = [
        threading.Thread(target=lambda index=index: received_texts.update({index: request(local, texts[index])}))
        for index in texts
    ]
    for talk in talks:
        talk.start()
    for talk in talks:
        talk.join(20)
    forwarder.close()
    assert received_texts == {index: text.upper() for index, text in texts.items()}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(local, timeout=5).close()


def test_a_refused_connection_ends_alone(echo: int) -> None:
    """The far end refuses connections while it starts again."""
    refuses = iter([False, True, False])

    def dial(address: str, port: int) -> socket.socket:
        if next(refuses):
            raise ConnectionRefusedError
        return dial_directly(address, port)

    with contextlib.closing(PortForwarder(dial)) as forwarder:
        local = forwarder.forward(LOCAL_ADDRESS, echo)
        with contextlib.suppress(ConnectionResetError):
            assert request(local, b"one") == b""
        assert request(local, b"two") == b"TWO"


def test_on_the_local_host_the_address_is_returned(echo: int) -> None:
    with open_forwarder(Host("me", "me", connection="local")) as forwarder:
        assert forwarder.forward("10.96.0.1", 80) == ("10.96.0.1", 80)
        assert request(forwarder.forward(LOCAL_ADDRESS, echo, find_free_port()), b"abc") == b"ABC"


def find_free_port() -> int:
    with socket.create_server((LOCAL_ADDRESS, 0)) as server:
        return int(server.getsockname()[1])


def test_a_port_that_is_taken_is_an_error(echo: int) -> None:
    with pytest.raises(OSError, match="in use"):
        PortForwarder(dial_directly).forward(LOCAL_ADDRESS, echo, echo)


def test_where_nobody_listens_is_an_error_at_once() -> None:
    with pytest.raises(ConnectionRefusedError):
        PortForwarder(dial_directly).forward(LOCAL_ADDRESS, find_free_port())


class Server(paramiko.ServerInterface):  # type: ignore[misc] # Paramiko has no types
    """Lets everybody in and, unless that is forbidden, connections through."""

    def __init__(self, *, forwards: bool) -> None:
        self.forwards, self.wanted_targets = forwards, queue.Queue[tuple[str, int]]()

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return int(paramiko.AUTH_SUCCESSFUL)

    def check_channel_direct_tcpip_request(self, chanid: int, origin: object, address: tuple[str, int]) -> int:
        if not self.forwards:
            return int(paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED)
        self.wanted_targets.put(address)
        return int(paramiko.OPEN_SUCCEEDED)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """`start(forwards=…)` gives a host with a real SSH server."""
    key = paramiko.RSAKey.generate(2048)
    key.write_private_key_file(str(tmp_path / "key"))
    listener = socket.create_server((LOCAL_ADDRESS, 0))
    port = listener.getsockname()[1]
    (tmp_path / "known_hosts").write_text(f"[{LOCAL_ADDRESS}]:{port} {key.get_name()} {key.get_base64()}\n")
    transports: list[paramiko.Transport] = []

    def serve(server: Server) -> None:
        transport = paramiko.Transport(listener.accept()[0])
        transport.add_server_key(key)
        transports.append(transport)
        transport.start_server(event=threading.Event(), server=server)
        while (channel := transport.accept(20)) is not None:
            far = dial_directly(*server.wanted_targets.get())
            threading.Thread(target=relay, args=(channel, far), daemon=True).start()

    def build_host(*, forwards: bool) -> Host:
        threading.Thread(target=serve, args=(Server(forwards=forwards),), daemon=True).start()
        ssh_options = (
            "-F",
            "/dev/null",
            "-o",
            f"UserKnownHostsFile={tmp_path / 'known_hosts'}",
            "-o",
            "IdentityAgent=none",
        )
        return Host("h1", LOCAL_ADDRESS, port=port, user="ops", key_file=str(tmp_path / "key"), ssh_args=ssh_options)

    yield build_host
    for transport in transports:
        transport.close()
    listener.close()


def test_connections_are_forwarded_over_ssh(start: Callable[..., Host], echo: int) -> None:
    with open_forwarder(start(forwards=True)) as forwarder:
        local = forwarder.forward(LOCAL_ADDRESS, echo)
        assert local != (LOCAL_ADDRESS, echo)
        assert request(local, b"a" * 100_000) == b"A" * 100_000
        assert request(local, b"again") == b"AGAIN"
        assert forwarder.is_alive()
    assert not forwarder.is_alive()


def test_sshd_s_refusal_is_in_its_words(start: Callable[..., Host], echo: int) -> None:
    with (
        open_forwarder(start(forwards=False)) as forwarder,
        pytest.raises(ConnectionRefusedError, match=rf"127\.0\.0\.1:{echo}: Administratively prohibited"),
    ):
        forwarder.forward(LOCAL_ADDRESS, echo)


def test_a_connection_that_ended_is_an_error(start: Callable[..., Host], echo: int) -> None:
    host = start(forwards=True)
    with open_forwarder(host) as forwarder:
        pass
    with pytest.raises(ConnectionRefusedError):
        forwarder.forward(LOCAL_ADDRESS, echo)

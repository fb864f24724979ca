"""A port here leads to an address there: bytes both ways, ends both ways, many at once, and no port after the end."""

import socket
import threading
from collections.abc import Iterator

import pytest

from gpustack.ask import ssh
from gpustack.ask.forward import HERE, Ways, beside, ways
from gpustack.config.host import Host


@pytest.fixture
def echo() -> Iterator[int]:
    """Answers what it heard, in capitals, once the other side has ended."""
    server = socket.create_server((HERE, 0))

    def serve() -> None:
        while True:
            try:
                guest, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(guest,), daemon=True).start()

    def answer(guest: socket.socket) -> None:
        with guest:
            heard = b""
            while data := guest.recv(65536):
                heard += data
            guest.sendall(heard.upper())

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def said(address: tuple[str, int], text: bytes) -> bytes:
    with socket.create_connection(address, timeout=10) as stream:
        stream.sendall(text)
        stream.shutdown(socket.SHUT_WR)
        heard = b""
        while data := stream.recv(65536):
            heard += data
        return heard


def test_both_ways_and_many_at_once(echo: int) -> None:
    found = Ways(beside)
    door = found.to(HERE, echo)
    assert door != (HERE, echo)
    heard: dict[int, bytes] = {}
    texts = {at: bytes([97 + at]) * 300_000 for at in range(8)}
    talks = [threading.Thread(target=lambda at=at: heard.update({at: said(door, texts[at])})) for at in texts]
    for talk in talks:
        talk.start()
    for talk in talks:
        talk.join(20)
    found.close()
    assert heard == {at: text.upper() for at, text in texts.items()}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(door, timeout=5).close()


def test_on_the_local_host_the_address_is_the_way(echo: int) -> None:
    with ways(Host("me", "me", connection="local")) as found:
        assert found.to("10.96.0.1", 80) == ("10.96.0.1", 80)
        assert said(found.to(HERE, echo, free()), b"abc") == b"ABC"


def free() -> int:
    with socket.create_server((HERE, 0)) as server:
        return int(server.getsockname()[1])


def test_a_port_that_is_taken_is_an_error(echo: int) -> None:
    with pytest.raises(OSError, match="in use"):
        Ways(beside).to(HERE, echo, echo)


def test_where_nobody_listens_is_told_at_once() -> None:
    with pytest.raises(ConnectionRefusedError):
        Ways(beside).to(HERE, free())


def test_sshd_s_refusal_is_in_its_words() -> None:
    from paramiko import ChannelException

    class Transport:
        def open_channel(self, *_: object, **__: object) -> None:
            raise ChannelException(1, "Administratively prohibited")

    class Connection:
        transport = Transport()

    with pytest.raises(ConnectionRefusedError, match=r"10\.96\.0\.1:80: Administratively prohibited"):
        ssh.dial(Connection(), "10.96.0.1", 80)

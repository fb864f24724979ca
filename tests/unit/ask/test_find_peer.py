"""Check the address at which an SSH connection ended: the socket has it, and behind a jump host the inventory."""

import socket
from typing import Any

import pytest

from gpustack.ask.transport.ssh import find_peer
from gpustack.config.host import Host


class Channel:
    """A channel whose connection has this peer; of a ProxyCommand, Paramiko knows none."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer

    def get_transport(self) -> "Channel":
        return self

    def getpeername(self) -> Any:
        if isinstance(self.peer, Exception):
            raise self.peer
        return self.peer


UNKNOWN = Channel(("unknown", 0))


def test_the_socket_says_where_it_ended() -> None:
    host = Host("gpu1", "gpu1.example.com")
    assert find_peer(host, Channel(("10.0.0.2", 22))) == "10.0.0.2"
    assert find_peer(host, Channel(("2001:db8::2", 22, 0, 0))) == "2001:db8::2"
    assert find_peer(host, Channel(OSError("not connected"))) == ""


def test_behind_a_jump_host_an_address_is_what_the_inventory_says() -> None:
    assert find_peer(Host("gpu1", "10.0.0.2"), UNKNOWN) == "10.0.0.2"
    alias_host = Host("gpu1", "gpu1", ssh_args=("-o", "HostName=10.0.0.3"))
    assert find_peer(alias_host, UNKNOWN) == "10.0.0.3"


def test_behind_a_jump_host_a_name_is_what_this_machine_resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"gpu1.example.com": "10.0.0.2"}

    def resolve(name: str, *_: Any) -> list[Any]:
        if name not in names:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (names[name], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert find_peer(Host("gpu1", "gpu1.example.com"), UNKNOWN) == "10.0.0.2"
    assert find_peer(Host("gpu2", "gpu2.example.com"), UNKNOWN) == ""

"""Clients are answered by the name that a request says, and by how many connections they have."""

import socket
import time
from contextlib import ExitStack, closing
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.serve import clients
from gpustack.serve.allowed_hosts import is_allowed, read_host
from gpustack.serve.clients import PER_CLIENT, THREADS, Clients, identify_client
from tests.unit.serve.test_server import connect, get, send_bytes, serve_moments, wait

NAMES = frozenset({"gpus.example.com"})


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:9460", "localhost.", "127.0.0.1:9460", "10.244.1.7:9460", "[::1]:9460", "[fd00::7]",
     "gpus.example.com", "GPUS.example.com:80", "gpus.example.com.:9460"],
)  # fmt: skip
def test_its_own_names_and_addresses_are_answered(host: str) -> None:
    assert is_allowed([host], NAMES)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9460", "127.0.0.1.evil.example", "localhost.evil.example",
     "gpus.example.com.evil.example",
     "notlocalhost", "", "[::1].evil.example", "localhost:9460:evil.example", "localhost evil.example", "1.2.3",
     "localhost@evil", "[fe80::1%25evil.example]", "[fe80::1%evil.example]:9460", "[::1%25]"],
)  # fmt: skip
def test_names_of_others_are_not_answered(host: str) -> None:
    assert not is_allowed([host], NAMES)


def test_without_a_host_it_is_no_browser_and_with_two_it_is_nobody() -> None:
    assert is_allowed([], NAMES)
    assert not is_allowed(["localhost", "localhost"], NAMES)


@given(st.text())
def test_any_header_is_read_in_lower_case(header: str) -> None:
    host = read_host(header)
    assert host == host.lower()


def test_a_page_that_was_rebound_reads_nothing() -> None:
    request = "GET /v1/gpus HTTP/1.1\r\nHost: {}\r\nOrigin: http://evil.example\r\n\r\n"
    with serve_moments(hosts=("gpus.example.com",)) as server:
        status, text = send_bytes(server, request.format("evil.example").encode())
        assert status == HTTPStatus.MISDIRECTED_REQUEST
        assert b"serve-host" in text
        assert b"GPU-" not in text
        assert send_bytes(server, request.format("gpus.example.com:9460").encode())[0] == HTTPStatus.OK


def test_idle_sockets_of_a_client_silence_it_not_even_for_itself() -> None:
    with serve_moments() as server, ExitStack() as stack:
        sockets = [stack.enter_context(closing(connect(server))) for _ in range(40)]
        wait(lambda: len(server.clients.pending) == PER_CLIENT)
        time.sleep(clients.IDLE_SECONDS)
        for _ in range(52):
            assert get(server, "/healthz").status == HTTPStatus.OK
        assert sockets[0].recv(100) == b""


def test_a_client_whose_requests_are_at_work_is_refused_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "PER_CLIENT", 2)
    table = Clients()
    with ExitStack() as stack:
        pairs = [socket.socketpair() for _ in range(4)]
        first, second, third, other_client = [pair[0] for pair in pairs]
        for connection in (part for pair in pairs for part in pair):
            stack.enter_context(closing(connection))
        assert table.admit(first, "10.0.0.1") is None
        assert table.admit(second, "10.0.0.1") is None
        table.begin(first)
        table.begin(second)
        refusal = table.admit(third, "10.0.0.1")
        assert refusal
        assert "of this client" in refusal.reason
        assert table.admit(other_client, "10.0.0.2") is None
        table.leave(first)
        assert table.admit(third, "10.0.0.1") is None


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
    ],
)
def test_a_network_of_ipv6_is_one_client(address: str, client: str) -> None:
    assert identify_client(address) == client


def test_idle_sockets_of_many_clients_make_room_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.05)
    table = Clients()
    with ExitStack() as stack:
        pairs = [socket.socketpair() for _ in range(THREADS + 2)]
        for connection in (part for pair in pairs for part in pair):
            stack.enter_context(closing(connection))
        own_ends = [pair[0] for pair in pairs]
        for number, connection in enumerate(own_ends[:THREADS]):
            assert table.admit(connection, f"2001:db8:0:{number}::1") is None
        assert table.admit(own_ends[THREADS], "10.0.0.1"), "all of them are too young to be idle"
        table.begin(own_ends[0])
        time.sleep(0.1)
        assert table.admit(own_ends[THREADS], "10.0.0.1") is None
        assert pairs[1][1].recv(1) == b"", "the oldest that is idle was closed"
        for connection in own_ends[2:THREADS]:
            table.begin(connection)
        refusal = table.admit(own_ends[THREADS + 1], "10.0.0.2")
        assert refusal
        assert refusal.reason.startswith(f"{THREADS} requests are")

"""The question for a name outside, sent to a server on loopback that answers with each status of DNS (RFC 1035)."""

import socket
import struct
import subprocess
from collections.abc import Iterator
from shutil import which
from threading import Thread

import pytest

from gpustack.probes.network.pod_network import PROGRAM

SERVER = "127.0.0.77"
OK, SERVER_FAILURE, NO_SUCH_NAME = 0, 2, 3


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        try:
            listener.bind((SERVER, 53))
        except PermissionError:
            pytest.skip("only root may listen on the port of DNS")
        listener.settimeout(5)
        yield listener


def answer_question(listener: socket.socket, status: int, answers: int) -> None:
    question, sender = listener.recvfrom(512)
    header = struct.pack("!HHHHHH", int.from_bytes(question[:2]), 0x8180 | status, 1, answers, 0, 0)
    listener.sendto(header + question[12:], sender)


@pytest.mark.skipif(which("perl") is None, reason="perl asks")
@pytest.mark.parametrize(
    ("kind", "status", "answers", "result"),
    [
        ("name", OK, 1, "ok"),
        ("name", NO_SUCH_NAME, 0, "no-name"),
        ("name", SERVER_FAILURE, 0, "no-answer"),
        ("name", OK, 0, "no-answer"),
        ("dns", NO_SUCH_NAME, 0, "no-answer"),
    ],
)
def test_the_status_of_an_answer_is_told_apart(
    server: socket.socket, kind: str, status: int, answers: int, result: str
) -> None:
    thread = Thread(target=answer_question, args=(server, status, answers))
    thread.start()
    command = ["perl", "-e", PROGRAM, "ask", "1450", "registry.example.org"]
    process = subprocess.run(command, input=f"ask {kind} {SERVER}\n", capture_output=True, text=True, check=True)
    thread.join()
    assert process.stdout == f"{kind} {SERVER} {result}\n"

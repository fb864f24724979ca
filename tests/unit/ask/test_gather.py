"""Many hosts at once: how many connections there are, how long it takes, and that one bad host is only its own."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.ask.gather import MAX_THREADS, gather
from gpustack.ask.snapshot import Reach
from gpustack.ask.transport import execute
from gpustack.ask.transport.execute import Command, PeerCallback, execute_command
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.probes.kernel.settings import SWAP, SYSCTL

LOCAL_HOST = Host("here", "127.0.0.1", connection="local", groups=frozenset({CONTROL_PLANE, NODE}))
SPEC = Spec.model_validate({"source": {"mirror": "http://10.0.0.9:80", "fingerprint": "A" * 40}})
HOSTS = tuple(
    Host(f"n{i + 1:03}", f"10.0.0.{i + 1}", groups=frozenset({NODE, *([CONTROL_PLANE] if i == 0 else [])}))
    for i in range(100)
)
ANSWER, SLOW = 0.05, dict.fromkeys(("n007", "n033", "n050", "n077"), 2.0)
BAD = {"n003", "n099"}


class Hosts:
    """A hundred hosts that answer nothing, each in its own time; counts the connections that are open."""

    def __init__(self) -> None:
        self.lock, self.open, self.max_count, self.count = threading.Lock(), 0, 0, 0
        self.full = threading.Barrier(MAX_THREADS)

    def ask(self, host: Host, script: str, *, last: str = "", peer_callback: PeerCallback = print) -> Iterator[str]:
        with self.lock:
            self.open, self.count = self.open + 1, self.count + 1
            self.max_count, first = max(self.max_count, self.open), self.count <= MAX_THREADS
        if first:
            self.full.wait(timeout=30)
        time.sleep(SLOW.get(host.name, ANSWER))
        with self.lock:
            self.open -= 1
        if host.name in BAD:
            raise HostRefused(Reach(host.name, "host-ssh-unreachable", f"{host.address}: connection refused"))
        yield from ()


def test_connections_are_limited_and_the_slowest_hosts_do_not_add_up() -> None:
    hosts = Hosts()
    inventory = Inventory(Path("hosts.yml"), HOSTS, SPEC)
    began = time.monotonic()
    snapshot = gather(inventory, [SWAP], ask=hosts.ask)
    assert time.monotonic() - began < sum(SLOW.values())
    assert hosts.count == len(HOSTS)
    assert hosts.max_count == MAX_THREADS == 32
    references = {name: reach.reference for name, reach in snapshot.reach.items()}
    assert {name for name, reference in references.items() if reference == "host-ssh-unreachable"} == BAD
    assert snapshot.reach["n003"].reason == "10.0.0.3: connection refused"
    assert {reference for name, reference in references.items() if name not in BAD} == {"host-no-shell"}
    assert snapshot.reach["n001"].reason == "the login works, and its shell gave no answer before it ended"
    assert not snapshot.answers


def test_what_a_host_did_not_answer_in_time_is_lost_and_the_rest_counts() -> None:
    def ask(host: Host, script: str, *, last: str = "", peer_callback: PeerCallback = print) -> Iterator[str]:
        return (
            line
            for line in execute_command(LOCAL_HOST, Command("sh", f"{script}\n".encode(), 20))
            if SYSCTL.id not in line
        )

    snapshot = gather(Inventory(Path("hosts.yml"), (LOCAL_HOST,), SPEC), [SWAP, SYSCTL], ask=ask)
    assert snapshot.reach["here"].reached
    assert not snapshot.answers[SWAP.id, "here"].missing_reason
    assert snapshot.answers[SYSCTL.id, "here"].missing_reason == "here answered only 1 of 2 probes within 0 s"


ASK_A_SILENT_HOST = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a script put us into the background
from pathlib import Path
from gpustack.ask.gather import gather
from gpustack.config.inventory import Inventory
from gpustack.probes.kernel.settings import SWAP
from tests.unit.ask.test_gather import LOCAL_HOST, SPEC
def silent(*_, **__):
    print("asked", flush=True)
    threading.Event().wait()
gather(Inventory(Path("hosts.yml"), (LOCAL_HOST,), SPEC), [SWAP], ask=silent)
"""


def test_ctrl_c_waits_for_no_host() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ASK_A_SILENT_HOST], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout
        assert process.stdout.readline() == b"asked\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert b"KeyboardInterrupt" in errors


def test_where_a_connection_ended_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport itself is used, without SSH and root: `stdin` is a mark and the script."""

    def execute_locally(host: Host, command: Command, peer_callback: PeerCallback) -> Iterator[str]:
        peer_callback("10.0.0.7")
        return execute_command(host, Command("sh", command.stdin.partition(b"\n")[2], 20))

    monkeypatch.setattr(execute, "execute_command", execute_locally)
    snapshot = gather(Inventory(Path("hosts.yml"), (LOCAL_HOST,), SPEC), [SWAP])
    assert snapshot.reach["here"] == Reach("here", address="10.0.0.7")
    assert not snapshot.answers[SWAP.id, "here"].missing_reason


def test_a_round_has_variables_of_its_own() -> None:
    scripts: list[str] = []

    def ask(host: Host, script: str, *, last: str = "", peer_callback: PeerCallback = print) -> Iterator[str]:
        scripts.append(script)
        yield from ()

    gather(Inventory(Path("hosts.yml"), (LOCAL_HOST,), SPEC), [SWAP], variables={"LOGS": "a/pod/main b/x/y"}, ask=ask)
    assert "LOGS='a/pod/main b/x/y'; export LOGS\n" in scripts[0]

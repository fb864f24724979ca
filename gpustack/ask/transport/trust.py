"""Fetching of a host's key, to add it to known_hosts."""

import contextlib
import os
import signal
import subprocess
import threading

from gpustack.ask.message import shorten_message
from gpustack.ask.transport.host_key import HostKey, build_host_key, parse_host_key
from gpustack.ask.transport.refusal import CONNECT_LIMIT
from gpustack.ask.transport.ssh import UnknownHostKey, connect
from gpustack.ask.transport.ssh_options import build_arguments
from gpustack.config.host import Host
from gpustack.errors import UnreachableError, describe_os_error

# They come first, and ssh(1) takes the first value that it is given: nothing later makes it trust a key by itself.
STRICT = (
    "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no", "-o", "VerifyHostKeyDNS=no", "-o", "BatchMode=yes",
    "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no",
    "-o", "PermitLocalCommand=no", "-o", "RequestTTY=no", "-o", f"ConnectTimeout={CONNECT_LIMIT}",
)  # fmt: skip
LIMIT = 3 * CONNECT_LIMIT
LARGEST = 16384
"""The most bytes of an answer. A key of 16384 bits has 2800."""


def fetch_key(host: Host) -> tuple[HostKey, bool] | None:
    """Return the key with which the host proves itself, and whether known_hosts has an authority for the host; None
    where the key is known already.

    Raise HostRefused where the host is not reached, or its key is another than the known one or revoked, and
    UnreachableError where the key is of a type that is not written.
    """
    try:
        connect(host).close()
    except UnknownHostKey as unknown:
        try:
            return build_host_key(unknown.kind, unknown.base64_blob), unknown.certified
        except ValueError as error:
            raise UnreachableError("host-key-refused", f"The key of {host.name} is not used.", str(error)) from error
    return None


def require_certified(host: Host, key: HostKey) -> None:
    """Ask for the key once more, over a connection for which ssh(1) checks the certificate of the host.

    Raise UnreachableError where ssh(1) does not connect, and where the answer is not this key.
    """
    command = ["ssh", *STRICT, *build_arguments(host), host.address, "cat", key.file]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a proxy command of ssh ends with it
        )
    except FileNotFoundError as error:
        raise UnreachableError("ssh-missing", "There is no ssh on this machine.", describe_os_error(error)) from error
    stdout, stderr, exit_status = read_answer(process)
    if exit_status:
        reason = stderr.decode(errors="replace").strip().splitlines()
        raise UnreachableError(
            "host-key-unverified",
            f"ssh did not connect to {host.name} by its certificate; nothing was written.",
            shorten_message(reason[-1]) if reason else f"ssh ended with {exit_status}.",
        )
    try:
        answer = parse_host_key(stdout.decode("ascii"))
        if answer != key:
            raise ValueError(f"it is {answer.fingerprint}, and the host proves itself with {key.fingerprint}")
    except ValueError as error:
        message = f"The key that {host.name} sent is not used; nothing was written."
        raise UnreachableError("host-key-refused", message, f"{key.file}: {error}") from error


def read_answer(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes, int]:
    """Read the output and error output, of a limited size, and the exit status. A process that prints too much or is
    late is ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        timer = start_timer(process)
        try:
            stdout = process.stdout.read(LARGEST)
            if len(stdout) == LARGEST:
                end_group(process)
            stderr = process.stderr.read(LARGEST)
        finally:
            status = process.wait()
            timer.cancel()
    return stdout, stderr, 0 if len(stdout) == LARGEST else status


def start_timer(process: "subprocess.Popen[bytes]") -> threading.Timer:
    timer = threading.Timer(LIMIT, end_group, [process])
    timer.daemon = True
    timer.start()
    return timer


def end_group(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

"""Hosts that take no connection: whether something answered, which a host without power does not."""

import errno
from dataclasses import replace

import paramiko
import pytest

from gpustack.ask.transport import ssh
from gpustack.ask.transport.ssh_options import SshOptions
from gpustack.config.host import Host

OPTIONS = SshOptions("10.0.0.2", 22, "root", (), (), "", "", identities_only=False, agent=False)


def build_connection_error(code: int) -> Exception:
    """Build the error of paramiko for an address at which nothing took the connection."""
    error: Exception = paramiko.ssh_exception.NoValidConnectionsError({("10.0.0.2", 22): OSError(code, "")})
    return error


@pytest.mark.parametrize(
    ("error", "reason", "silent"),
    [
        (TimeoutError(), "no answer from", True),
        (build_connection_error(errno.EHOSTUNREACH), "no route to host", True),
        (build_connection_error(errno.ECONNREFUSED), "connection refused", False),
        (EOFError(), "EOFError", False),
    ],
)
def test_a_refusal_is_an_answer(error: Exception, reason: str, silent: bool) -> None:
    reach = ssh.describe_failure(Host("gpu1", "10.0.0.2"), OPTIONS, error)
    assert (reach.reference, reach.silent, reason in reach.reason) == ("host-ssh-unreachable", silent, True)


def test_an_address_of_examples_is_named_as_that() -> None:
    options = replace(OPTIONS, hostname="192.0.2.11")
    reach = ssh.describe_failure(Host("kube1", "192.0.2.11"), options, build_connection_error(errno.EHOSTUNREACH))
    assert reach.reason == (
        "192.0.2.11: no route to host; it is an address of examples, so write that of the host into the inventory"
    )

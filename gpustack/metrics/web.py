"""HTTP requests to a Prometheus and to exporters, with time limits, retries and a login."""

import re
import time
from dataclasses import dataclass, field
from typing import Any

import urllib3

from gpustack.command import Command, quote_word
from gpustack.errors import InputError, UnreachableError
from gpustack.metrics.deadline import POOLS

CONNECT_LIMIT, READ_LIMIT = 4.0, 30.0
ANSWER_LIMIT = 60.0
"""Seconds for a whole answer: READ_LIMIT is of each packet, and a server may send a byte a second."""
SIZE_LIMIT = 256 * 2**20
PIECE = 2**18
TRIES = 2
SCHEMES = ("http://", "https://")
BUSY = (502, 503, 504)


@dataclass(frozen=True)
class Access:
    """Hold the address of a server and its login. `url` is the part before /api/v1. `token` is a bearer token, `login`
    is `user:password` of basic authentication. `certificate` is a client's certificate with its key, `ca` a certificate
    authority of the server, both as files. `tenant` is Mimir's X-Scope-OrgID. Raise InputError for a text that is no
    address, and for a login in it, which would stand in the command line and in messages."""

    url: str
    token: str = field(default="", repr=False)
    certificate: str = ""
    ca: str = ""
    tenant: str = ""
    login: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        try:
            host = urllib3.util.parse_url(self.url).host if self.url.startswith(SCHEMES) else ""
        except urllib3.exceptions.LocationParseError:
            host = ""
        if not host:
            reason = f"It is http:// or https:// with a host, as {SCHEMES[0]}127.0.0.1:9090."
            raise InputError("prometheus-address", f"{quote_word(self.url)} is no address of a server.", reason)
        if "@" in self.url.rpartition("://")[2].partition("/")[0]:
            raise InputError(
                "prometheus-login",
                "The address has a user or a password in it.",
                "Everybody on this host could read it in the list of processes. It is not used.",
            )


class Web:
    """Send requests to one server. Raise UnreachableError where nothing answers."""

    def __init__(self, access: Access) -> None:
        self.access = access
        retries = urllib3.Retry(
            total=TRIES,
            backoff_factor=0.5,
            status_forcelist=BUSY,
            allowed_methods=None,
            raise_on_status=False,
            respect_retry_after_header=False,  # it may be hours
        )
        options: dict[str, Any] = {"ca_certs": access.ca or None}
        if access.certificate:
            options["cert_file"] = access.certificate
        limits = urllib3.Timeout(connect=CONNECT_LIMIT, read=READ_LIMIT)
        self.pool = urllib3.PoolManager(retries=retries, timeout=limits, **options)
        self.pool.pool_classes_by_scheme = POOLS

    def ask(self, url: str, method: str = "GET", form: str = "") -> tuple[int, bytes]:
        """Send a request, and return the status and the content of the answer."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        headers |= {"X-Scope-OrgID": self.access.tenant} if self.access.tenant else {}
        headers |= build_authorization(self.access)
        deadline = time.monotonic() + ANSWER_LIMIT
        try:
            with self.pool.request(
                method, url, body=form or None, headers=headers, redirect=False, preload_content=False
            ) as answer:
                return answer.status, read_content(answer, deadline)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            message = f"{self.access.url} did not answer."
            hint = Command("curl", "-sS", "-m", "10", self.access.url)
            raise UnreachableError("prometheus-unreachable", message, extract_reason(error), hint) from None


def build_authorization(access: Access) -> dict[str, str]:
    if access.login:
        return {"Authorization": urllib3.make_headers(basic_auth=access.login)["authorization"]}
    return {"Authorization": f"Bearer {access.token}"} if access.token else {}


def read_content(answer: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """Read the content of an answer. Raise OSError for one that is too large, or has not ended at the deadline."""
    pieces = bytearray()
    while piece := answer.read1(PIECE):
        pieces += piece
        if len(pieces) > SIZE_LIMIT:
            raise OSError(f"its answer is larger than {SIZE_LIMIT // 2**20} MiB")
        if time.monotonic() > deadline:
            raise OSError(f"its answer had not ended after {ANSWER_LIMIT:.0f} s")
    return bytes(pieces)


def extract_reason(error: Exception) -> str:
    """Extract the reason of the last try, which urllib3 wraps, without the connection that it names."""
    inner = getattr(error, "reason", None) or error
    if isinstance(inner, urllib3.exceptions.ProtocolError) and isinstance(inner.args[-1], Exception):
        inner = inner.args[-1]
    return re.sub(r"^\[Errno -?\d+\] ", "", str(inner).rpartition(": ")[2] or str(inner))

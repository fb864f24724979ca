"""HTTP requests to a Prometheus and to exporters, with time limits, retries and a login."""

import re
from dataclasses import dataclass, field
from typing import Any

import urllib3

from gpustack.command import quote_word
from gpustack.errors import InputError, UnreachableError

CONNECT_LIMIT, READ_LIMIT = 4.0, 30.0
TRIES = 2
SCHEMES = ("http://", "https://")
BUSY = (502, 503, 504)


@dataclass(frozen=True)
class Access:
    """Hold the address of a server and its login. `url` is the part before /api/v1. `token` is a bearer token;
    `certificate` is a client's certificate with its key, `ca` a certificate authority of the server, both as files.
    `tenant` is Mimir's X-Scope-OrgID. Raise InputError for a text that is no address, and for a login in it, which
    would stand in the command line and in messages."""

    url: str
    token: str = field(default="", repr=False)
    certificate: str = ""
    ca: str = ""
    tenant: str = ""

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

    def ask(self, url: str, method: str = "GET", form: str = "") -> tuple[int, bytes]:
        """Send a request, and return the status and the content of the answer."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        headers |= {"Authorization": f"Bearer {self.access.token}"} if self.access.token else {}
        headers |= {"X-Scope-OrgID": self.access.tenant} if self.access.tenant else {}
        try:
            answer = self.pool.request(method, url, body=form or None, headers=headers, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            message = f"{self.access.url} did not answer."
            raise UnreachableError("prometheus-unreachable", message, extract_reason(error)) from None
        return answer.status, answer.data


def extract_reason(error: Exception) -> str:
    """Extract the reason of the last try, which urllib3 wraps, without the connection that it names."""
    inner = getattr(error, "reason", None) or error
    return re.sub(r"^\[Errno -?\d+\] ", "", str(inner).rpartition(": ")[2] or str(inner))

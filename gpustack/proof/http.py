"""JSON over HTTP, with the standard library. Proxies of the environment are not used, as the addresses are
forwarded."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlencode

from gpustack.ask.message import shorten_message
from gpustack.errors import describe_os_error
from gpustack.files.json_text import dump_json, load_json

LIMIT = 15.0
BODY_LIMIT = 256 * 2**20


class NoAnswer(Exception):
    """Report that a server gave no usable answer, with the reason as text."""


@dataclass(frozen=True)
class Web:
    """Send requests to a server. `login` is user and password, sent with each request and never shown."""

    name: str
    address: str
    port: int
    login: tuple[str, str] | None = field(default=None, repr=False)

    def get(self, path: str, words: Mapping[str, str] | None = None) -> tuple[int, Any]:
        return self.ask("GET", f"{path}?{urlencode(words)}" if words else path)

    def post(self, path: str, document: Any) -> tuple[int, Any]:
        return self.ask("POST", path, dump_json(document))

    def ask(self, verb: str, path: str, body: str | None = None) -> tuple[int, Any]:
        """Send a request, and return the status and the document. A body that is no JSON is returned as its first 300
        characters. Raise NoAnswer."""
        status, content = self.request_text(verb, path, body)
        try:
            return status, load_json(content)
        except (ValueError, RecursionError):
            return status, shorten_message(content)

    def request_text(self, verb: str, path: str, body: str | None = None) -> tuple[int, str]:
        """Send a request, and return the status and the body as text. Raise NoAnswer."""
        headers = {"Accept": "application/json", "Host": f"{self.address}:{self.port}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.login:
            headers["Authorization"] = f"Basic {b64encode(':'.join(self.login).encode()).decode()}"
        connection = HTTPConnection(self.address, self.port, timeout=LIMIT)
        try:
            connection.request(verb, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(BODY_LIMIT).decode(errors="replace")
        except TimeoutError as error:
            raise NoAnswer(f"{self.name} did not answer within {LIMIT:.0f} s") from error
        except (OSError, HTTPException) as error:
            raise NoAnswer(f"{self.name} could not be asked: {describe_os_error(error)}") from error
        finally:
            connection.close()

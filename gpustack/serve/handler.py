"""The handler of one connection with one request, GET or HEAD. http.server parses the head, whose size and time
request_head.py limits before."""

import io
import sys
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from gpustack.ask.redact.printable import clean_text
from gpustack.command import Command
from gpustack.serve.allowed_hosts import is_allowed
from gpustack.serve.openapi import render_openapi
from gpustack.serve.refusal import CONTENT_TYPE, Refusal, render_problem
from gpustack.serve.request_head import WRITE_LIMIT, drain, read_head
from gpustack.serve.routes import respond

if TYPE_CHECKING:
    from gpustack.serve.server import Server

METHODS = ("GET", "HEAD")
RETRY_SECONDS = 5


class Handler(BaseHTTPRequestHandler):
    server: "Server"
    protocol_version = default_request_version = "HTTP/1.1"
    command, requestline, request_version = "", "", default_request_version

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):  # the client went away, or takes nothing
            try:
                self.serve_request()
            except Refusal as refusal:
                self.send_refusal(refusal)

    def serve_request(self) -> None:
        """Serve one request. Raise Refusal, and raise an error that is a bug of gpustack after it was answered."""
        if not (head := read_head(self.connection)):
            return
        self.server.clients.begin(self.connection)
        if not self.parse(head):
            return
        try:
            text = respond(self.path, self.server.latest, render_openapi)
        except Refusal:
            raise
        except Exception:
            reason = "A bug of gpustack, which its own output describes."
            self.send_refusal(Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "serve-bug", reason))
            raise
        self.send(HTTPStatus.OK, "application/json", text)

    def parse(self, head: bytes) -> bool:
        """Parse the head and tell whether to answer the request; an unreadable one was answered already. Raise
        Refusal."""
        self.rfile.close()
        self.rfile = io.BytesIO(head)
        self.raw_requestline = self.rfile.readline()
        if not self.parse_request():
            return False
        if not is_allowed(self.headers.get_all("Host", []), self.server.hosts):
            option = Command("gpustack", "serve", "--allow-host", "NAME")
            reason = f"This server has another name than the Host of the request: {option} adds one."
            raise Refusal(HTTPStatus.MISDIRECTED_REQUEST, "serve-host", reason)
        if self.command not in METHODS:
            reason = f"Nothing can be changed here: there are {' and '.join(METHODS)}."
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "serve-request", reason)
        if "Transfer-Encoding" in self.headers or self.headers.get("Content-Length", "0") != "0":
            raise Refusal(HTTPStatus.BAD_REQUEST, "serve-request", "A request has no body here.")
        return True

    def version_string(self) -> str:
        return "gpustack"

    def handle_expect_100(self) -> bool:
        """Send nothing, since a body is refused whether it was announced or not."""
        return True

    def send_refusal(self, refusal: Refusal) -> None:
        headers = {}
        if refusal.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(METHODS)
        if refusal.status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers["Retry-After"] = str(RETRY_SECONDS)
        self.send(refusal.status, CONTENT_TYPE, render_problem(refusal), headers)

    def send(self, status: HTTPStatus, content: str, text: str, extra_headers: Mapping[str, str] | None = None) -> None:
        body = text.encode()
        self.connection.settimeout(WRITE_LIMIT)
        self.send_response(status)
        headers = {"Content-Type": content, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        for name, value in (headers | {"Connection": "close"} | dict(extra_headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a head that http.server refuses."""
        status = HTTPStatus(code)
        self.send_refusal(Refusal(status, "serve-request", clean_text(f"{message or status.phrase}.")))

    def finish(self) -> None:
        super().finish()
        drain(self.connection)

    def log_message(self, format: str, *words: Any) -> None:  # noqa: A002 - as http.server names it
        if self.server.access_log:
            sys.stderr.write(clean_text(f"{self.client_address[0]} {format % words}").replace("\n", " ") + "\n")

"""A receiver of alerts, as tests know it: what Alertmanager posts is kept, and any status can be its answer."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = 9095
SECRET = "/hook/4f1c-only-we-know"


class Webhook(ThreadingHTTPServer):
    """`status` is what it answers from now on. `bodies` is what came with the right address, in that order, whatever
    was answered; `strays` are the other addresses that were asked for."""

    daemon_threads = True

    def __init__(self, address: str = "127.0.0.1", port: int = PORT, status: int = 200) -> None:
        self.status = status
        self.bodies, self.strays = list[dict[str, Any]](), list[str]()
        super().__init__((address, port), Request)

    @property
    def url(self) -> str:
        address, port = self.server_address[:2]
        return f"http://{address!s}:{port}{SECRET}"

    def list_alerts(self, **labels: str) -> list[dict[str, Any]]:
        """List the alerts with these labels, in the order in which they came."""
        alerts = [alert for body in list(self.bodies) for alert in body.get("alerts", ())]
        return [alert for alert in alerts if labels.items() <= alert["labels"].items()]


class Request(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == SECRET:
            self.server.bodies.append(json.loads(body))
        else:
            self.server.strays.append(self.path)
        self.send_response(self.server.status if self.path == SECRET else 404)
        self.end_headers()
        # The answer of Slack, without which Alertmanager takes 200 for an error (notify/slack/slack.go).
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Silence."""


@contextmanager
def run_webhook(address: str = "127.0.0.1", port: int = PORT, status: int = 200) -> Iterator[Webhook]:
    """Run a webhook as long as the `with` lasts."""
    server = Webhook(address, port, status)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

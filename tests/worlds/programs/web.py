"""Servers of HTTP on loopback, among them a Prometheus with GPUs."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpustack.metrics.prometheus import Series

Answer = Callable[[str, dict[str, str], dict[str, str]], tuple[int, bytes]]
"""Status and content, of path, form and headers."""


def make_success(data: Any, **fields: Any) -> tuple[int, bytes]:
    """Make an answer of Prometheus."""
    return 200, json.dumps({"status": "success", "data": data, **fields}).encode()


def make_error(status: int, text: str) -> tuple[int, bytes]:
    return status, json.dumps({"status": "error", "errorType": "execution", "error": text}).encode()


@contextmanager
def serve_answers(answer: Answer) -> Iterator[str]:
    """Serve these answers and yield the address, with a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            split = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            form = {key: values[0] for key, values in parse_qs(body or split.query).items()}
            status, content = answer(split.path, form, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Nothing: the test says what was asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/prometheus"
    finally:
        server.shutdown()
        server.server_close()


def make_prometheus(series: Sequence[Series], timestamp: float = 1010.0, **fields: Any) -> Answer:
    """Make a Prometheus that has these series, whatever is asked for, and a clock that stands."""
    result = [
        {"metric": dict(track.labels), "values": [[moment, str(value)] for moment, value in track.points]}
        for track in series
    ]

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        if form.get("query") == "time()":
            return make_success({"resultType": "scalar", "result": [timestamp, str(timestamp)]})
        return make_success({"resultType": "matrix", "result": result}, **fields)

    return answer

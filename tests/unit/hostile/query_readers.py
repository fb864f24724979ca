"""Commands that ask a Prometheus or an exporter, with answers that a Prometheus gave (tests/recorded/queries) and
pages that exporters printed."""

import gzip
import json
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.recording import RecordedWeb
from gpustack.metrics.web import Access, Web
from gpustack.profile.analysis import analyze
from gpustack.profile.recording import record_exporter
from gpustack.profile.selection import Selection
from gpustack.proof.prometheus import Prometheus as ProofPrometheus
from gpustack.serve.measures import MEASURES
from gpustack.serve.moment import read_moment
from gpustack.serve.refusal import Refusal
from gpustack.serve.routes import respond
from tests.unit.hostile.content import spoil_answers, spoil_content
from tests.unit.hostile.reader import Reader, run_command

RECORDED_FOLDER = Path(__file__).parents[2] / "recorded"
ADDRESS = "http://127.0.0.1:9"
CLOCK = "query=time%28%29"
COMMANDS = {
    "gpu health": (),
    "gpu list": (),
    "gpu metrics": (),
    "gpu top": ("--once",),
    "capacity report": ("--since", "2h"),
    "capacity report --month 2026-10": (),
    "capacity forecast": ("--history", "30d"),
    "cost report": ("--since", "2h"),
    "profile analyze": ("--pod", "n/p-h100", "--since", "10m"),
    "autoscale suggest": ("--pod", "n/p-h100", "--since", "10m"),
}


@cache
def load_queries(name: str) -> bytes:
    return gzip.decompress((RECORDED_FOLDER / "queries" / f"{name}.jsonl.gz").read_bytes())


def load_recorded(name: str) -> tuple[bytes, ...]:
    return (load_queries(name),)


@cache
def load_moment() -> bytes:
    """Load what `serve` asks for: the queries of `gpu top`, and the time."""
    times = [line for line in load_queries("gpu-list").splitlines() if CLOCK.encode() in line]
    return load_queries("gpu-top") + b"\n".join(times) + b"\n"


@contextmanager
def answer_queries(content: bytes) -> Iterator[None]:
    """Answer each query as in the recording, one that is not in it as the next one of its path: a spoiled time changes
    the queries that follow."""
    _, *lines = content.splitlines()
    answers = [json.loads(line) for line in lines]
    exact = {(answer["path"], answer["form"]): answer for answer in answers}
    rows = defaultdict[tuple[str, bool], deque[dict[str, str]]](deque)
    for answer in answers:
        rows[answer["path"], CLOCK in answer["form"]].append(answer)

    def ask(_: Web, url: str, method: str = "GET", form: str = "") -> tuple[int, bytes]:
        path = url.removeprefix(ADDRESS)
        row = rows[path, CLOCK in form]
        if (answer := exact.get((path, form))) is None and row:
            answer = row[0]
            row.rotate(-1)
        return (200, answer["body"].encode("utf-8", "surrogatepass")) if answer else (404, b"404 page not found")

    with patch.object(Web, "ask", ask), patch.object(RecordedWeb, "ask", ask):
        yield


@contextmanager
def answer_page(content: bytes) -> Iterator[None]:
    with patch.object(Web, "ask", lambda *_: (200, content)):
        yield


def choose_output(content: bytes) -> str:
    return ("human", "json")[len(content) % 2]


def ask_command(words: str, content: bytes, folder: Path) -> None:
    """Run a command. The prices of `cost report` are those of its recording, whose answers are replaced."""
    source = ["--prometheus", ADDRESS]
    if words == "cost report":
        (folder / "queries").write_bytes(load_queries(name_file(words)))
        source = ["--from", str(folder / "queries")]
    with answer_queries(content):
        run_command(*words.split(), *COMMANDS[words], *source, "-o", choose_output(content))


def read_recorded_queries(words: str, content: bytes, folder: Path) -> None:
    """Read a recording by --from, as somebody sent it."""
    (folder / "queries").write_bytes(content)
    run_command(*words.split(), "--from", str(folder / "queries"), "-o", choose_output(content))


def serve_queries(content: bytes) -> None:
    """Answer every path of `serve`."""
    with answer_queries(content):
        moment = read_moment(Prometheus(Access(ADDRESS)))
        paths = ["/v1/gpus", "/v1/pods", "/v1/gpus/GPU-h100", "/v1/pods/n/p-h100", "/v1/pods/n/p-*"]
        paths += [f"/v1/gpus/GPU-h100/{measure}" for measure in MEASURES]
        paths += [f"/v1/pods/n/p-h100/{measure}" for measure in MEASURES]
        for path in paths:
            try:
                respond(path, lambda: moment, str)
            except Refusal:
                continue


def prove_queries(content: bytes) -> None:
    """Read the series of a proof, as `prove` and `gpu burn` follow them."""
    with answer_queries(content):
        prometheus = ProofPrometheus(Prometheus(Access(ADDRESS)), ("h100", "a100"), {"n/p-h100": "h100"})
        series = prometheus.query_series()
        prometheus.query_values(series.timestamp)
        prometheus.query_time()


def check_page(content: bytes) -> None:
    with answer_page(content):
        run_command("gpu", "check-exporter", f"{ADDRESS}/metrics", "-o", choose_output(content))


def record_page(content: bytes) -> None:
    with answer_page(content):
        analyze(record_exporter(Web(Access(ADDRESS)), Selection("", "", "", ""), "x", 0.0, "", lambda _: None))


@cache
def load_pages() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((RECORDED_FOLDER / "exporter-pages").glob("*.prom")))


def name_file(words: str) -> str:
    return words.replace(" --month 2026-10", "-of-recorded-series").replace(" ", "-")


READERS = (
    *(
        Reader(
            words,
            partial(load_recorded, name_file(words)),
            partial(ask_command, words),
            spoil_answers,
            batch=2,
        )
        for words in COMMANDS
    ),
    Reader(
        "recordings of --from",
        lambda: (load_queries("gpu-list"),),
        lambda content, folder: read_recorded_queries("gpu list", content, folder),
        spoil_content,
        batch=2,
    ),
    Reader("serve", lambda: (load_moment(),), lambda content, _: serve_queries(content), spoil_answers, batch=5),
    Reader("prove", lambda: (load_queries("prove"),), lambda content, _: prove_queries(content), spoil_answers),
    Reader("gpu check-exporter", load_pages, lambda content, _: check_page(content), spoil_content, batch=2),
    Reader("profile record --exporter", load_pages, lambda content, _: record_page(content), spoil_content, batch=5),
)

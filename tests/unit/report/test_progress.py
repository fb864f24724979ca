"""Lines for logs, one live line for terminals."""

import io
import re
import threading

import pytest

from gpustack.events import Event, Kind
from gpustack.report import progress as room
from gpustack.report.progress import build_progress_reporter, clear_live_lines, cut_words

INSTALL = (
    Event("ask", "", "45 probes on 2 hosts"),
    Event("asked", "kube1", "45 answers", 0.4),
    Event("asked", "kube2", "45 answers", 0.5),
    Event("step", "containerd", "kube1, kube2"),
    Event("task", "containerd", "Ensure the package"),
    Event("changed", "kube1", "Ensure the package", 3.0),
    Event("failed", "kube2", "Ensure the package: \x1b[31mno space\nleft on device"),
    Event("ask", "", "9 probes on 1 host"),
    Event("waiting", "containerd", "kube1: the daemon: expected running, actual starting", 1.0),
    Event("waiting", "containerd", "kube1: the daemon: expected running, actual starting", 2.0),
    Event("done", "containerd", "", 2.5),
    Event("note", "", "a word"),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def render_progress(stream: io.StringIO, events: tuple[Event, ...]) -> str:
    report = build_progress_reporter(stream)
    for event in events:
        report(event)
    return stream.getvalue()


def test_a_log_has_a_line_for_all_that_matters() -> None:
    text = re.sub(r"\d+\.\d s", "0.0 s", render_progress(io.StringIO(), INSTALL))
    assert text.splitlines() == [
        "running 45 probes on 2 hosts",
        "containerd: kube1, kube2",
        "kube2: Ensure the package: no space",
        "containerd: waiting: kube1: the daemon: expected running, actual starting",
        "containerd: done in 0.0 s, 1 changed",
        "a word",
    ]


def test_lines_are_redacted() -> None:
    """They stay in the logs of whatever ran the command."""
    events = (Event("failed", "kube1", "Ensure it: http://kube:fig-leaf@proxy: 407"), Event("note", "", "password=fig"))
    for stream in (io.StringIO(), Terminal()):
        assert "fig" not in render_progress(stream, events)


def test_parts_of_a_bundle_may_be_made_at_once() -> None:
    events = (
        Event("step", "runc", "building"),
        Event("step", "etcd", "building"),
        Event("changed", "runc", "built", 61.0),
        Event("changed", "etcd", "built", 2.0),
        Event("done", "bundle", "/srv/bundle", 63.0),
    )
    assert render_progress(io.StringIO(), events).splitlines() == [
        "runc: building",
        "etcd: building",
        "runc: built (1 min 1 s)",
        "etcd: built (2.0 s)",
        "bundle: /srv/bundle (1 min 3 s)",
    ]


@pytest.mark.parametrize("kind", ["step", "waiting", "failed", "note"])
def test_an_event_without_a_subject_begins_with_its_words(kind: Kind) -> None:
    line = render_progress(io.StringIO(), (Event(kind, "", "run diagnostic level 1 on gpu1"),)).splitlines()[0]
    assert line == f"{'waiting: ' * (kind == 'waiting')}run diagnostic level 1 on gpu1"


def test_a_terminal_gets_a_live_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    report = build_progress_reporter(terminal)
    report(INSTALL[0])
    assert [line.activity for line in room.live_lines] == ["running 45 probes on 2 hosts"]
    report(Event("step", "containerd", "kube1"))
    report(INSTALL[4])
    assert [line.activity for line in room.live_lines] == ["containerd: Ensure the package"]
    assert "containerd: kube1\n" in terminal.getvalue()
    clear_live_lines()
    assert room.live_lines == []
    assert terminal.getvalue().endswith("\x1b[2K")


def test_the_live_line_comes_back_after_a_result() -> None:
    report = build_progress_reporter(Terminal())
    report(INSTALL[0])
    clear_live_lines()
    report(INSTALL[0])
    assert len(room.live_lines) == 1
    clear_live_lines()


def test_threads_may_report_at_once() -> None:
    stream = io.StringIO()
    report = build_progress_reporter(stream)
    threads = [
        threading.Thread(target=lambda: [report(Event("note", "", "x" * 50)) for _ in range(100)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert set(stream.getvalue().splitlines()) == {"x" * 50}
    assert len(stream.getvalue().splitlines()) == 800


def test_a_time_that_counts_is_no_other_wait() -> None:
    events = tuple(Event("waiting", "gpu1", f"is asked again in {seconds} s") for seconds in (60, 55, 50))
    assert render_progress(io.StringIO(), events).splitlines() == ["gpu1: waiting: is asked again in 60 s"]


def test_a_long_wait_is_shortened_in_its_middle() -> None:
    groups = ", ".join(f"gpustack-group-{number}" for number in range(30))
    wait = Event("waiting", "alerts", f"the cluster: rule groups: expected all loaded, actual no {groups}")
    (line,) = render_progress(io.StringIO(), (wait,)).splitlines()
    assert line.startswith("alerts: waiting: the cluster: rule groups: expected all loaded, actual no gpustack-group-0")
    assert (len(line) < 270, line.endswith("gpustack-group-29")) == (True, True)


def test_a_host_that_is_waited_for_fails_once() -> None:
    refusal = Event("failed", "gpu1", "10.0.0.3: connection refused")
    wait = Event("waiting", "gpu1", "its host gives no answer: gpu1 was not reached: 10.0.0.3: connection refused")
    failure = Event("failed", "gpu1", "10.0.0.3: no route to host")
    events = (refusal, wait, refusal, refusal, wait, refusal, failure)
    assert render_progress(io.StringIO(), events).splitlines() == [
        "gpu1: 10.0.0.3: connection refused",
        f"gpu1: waiting: {wait.message}",
        "gpu1: 10.0.0.3: no route to host",
    ]


def test_a_terminal_shows_the_failure_of_such_a_host_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    refusal = Event("failed", "gpu1", "10.0.0.3: connection refused")
    wait = Event("waiting", "gpu1", "its host gives no answer: 10.0.0.3: connection refused")
    text = render_progress(terminal, (refusal, wait, refusal, wait, refusal))
    assert text.count("gpu1: 10.0.0.3: connection refused\n") == 1


def test_the_cluster_has_no_symbol_for_a_name() -> None:
    events = (
        Event("waiting", "monitoring", "@cluster: targets of Prometheus: expected all up"),
        Event("failed", "@cluster", "pods: unknown"),
    )
    assert render_progress(io.StringIO(), events).splitlines() == [
        "monitoring: waiting: the cluster: targets of Prometheus: expected all up",
        "the cluster: pods: unknown",
    ]


def test_a_step_that_was_stopped_is_not_done() -> None:
    events = (Event("step", "firewall", "kube1"), Event("done", "firewall", "stopped", 11.0))
    text = re.sub(r"\d+\.\d s", "0.0 s", render_progress(io.StringIO(), events))
    assert text.splitlines()[-1] == "firewall: stopped after 0.0 s"


@pytest.mark.parametrize(
    ("width", "cut_text"),
    [
        (99, "monitoring: waiting: the cluster: expected ready, actual Pending"),
        (40, "monitoring: waiting: the cluster..."),
        (28, "monitoring: waiting: the..."),
        (13, "monitoring..."),
        (9, "monito..."),
        (1, "..."),
    ],
)
def test_a_live_line_is_cut_behind_a_word(width: int, cut_text: str) -> None:
    assert cut_words("monitoring: waiting: the cluster: expected ready, actual Pending", width) == cut_text

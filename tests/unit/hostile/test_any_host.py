"""A host may print what it likes between the lines of the script, and those lines too, for it sees the marker: that
costs its own answer, never the record of all hosts and never the program."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.ask.gather import gather
from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.recording import read_recording, write_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.transport.execute import PeerCallback
from gpustack.config.host import Host
from gpustack.doctor.diagnose import list_probes
from gpustack.errors import UsageError
from gpustack.report import human, junit
from gpustack.report import json as machine
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import plan
from gpustack.steps import STEPS
from tests.unit.hostile.profile import LIMIT, STEP_CASES
from tests.worlds.snapshots.passing_steps import list_passing_steps

pytestmark = pytest.mark.timeout(LIMIT)
INVENTORY = list_passing_steps()[0].snapshot.inventory
PROBES: Sequence[Probe[Any]] = list_probes()
IDS = [probe.id for probe in PROBES]
OF_HOST = [probe.id for probe in PROBES if probe.scope == "host"]
NUMBERS = [
    "0", "1", "124", "255", "256", "99999", "-1", "-0", "1e999", "-1e999", "1e308", "5e-324", "nan", "inf", "-inf",
    "Infinity", "NaN", "1_0", "+1", "٣٢", "²", "0x10", "1.5", "1e3", "", " ", "9" * 30, "9" * 5000, "1" + "0" * 400,
    "12.34", "86401", "1e10",
]  # fmt: skip
words = st.sampled_from(NUMBERS) | st.text(max_size=8) | st.floats().map(repr) | st.integers().map(str)
ids = st.sampled_from([*IDS, "@api", ".", "=", "done", "unknown.probe"]) | st.text(max_size=8)
marked_lines = st.one_of(
    st.tuples(ids, words).map(lambda pair: f"M {pair[0]} {pair[1]}"),
    st.tuples(words, words).map(lambda pair: f"M . {pair[0]} {pair[1]}"),
    st.tuples(words, words).map(lambda pair: f"M . {pair[0]} {pair[1]}"),
    st.tuples(words, st.lists(ids, max_size=3)).map(lambda pair: f"M @api {pair[0]} {' '.join(pair[1])}"),
    st.tuples(words, words, words, st.text(max_size=9)).map(lambda triple: f"M = {' '.join(triple)}"),
    ids.map(lambda name: f"M !{name}"),
)
printed_lines = st.binary(max_size=60).map(lambda content: content.decode(errors="replace")) | st.text(max_size=20)
streams = st.lists(
    marked_lines | printed_lines | st.tuples(st.sampled_from(OF_HOST), words).map(lambda lines: f"M {lines[0]} 1.00")
)


def print_honestly(script: str) -> Iterator[str]:
    for name in OF_HOST[:5]:
        yield from (f"M {name} 12.30", f"an answer to {name}", "M . 0 12.50")


def ask_hosts(hostile: Sequence[str]) -> Snapshot:
    """Ask two hosts, of which the second one prints lines of the marker M as it likes."""

    def ask(host: Host, script: str, *, last: str, peer_callback: PeerCallback) -> Iterator[str]:
        marker = re.findall(r"^M=(\w+)$", script, re.MULTILINE)[0]
        lines = print_honestly(script) if host.name == INVENTORY.hosts[0].name else iter(hostile)
        yield from (f"{marker}{line[1:]}" if line.startswith("M ") else line for line in lines)
        yield last

    return gather(INVENTORY, PROBES, ask=ask)


def refuse_constant(word: str) -> None:
    raise AssertionError(word)


def require_bounded(snapshot: Snapshot) -> None:
    for answer in snapshot.answers.values():
        assert -1 <= answer.rc <= 255
        assert 0 <= answer.seconds <= 86400
        assert answer.rc >= 0 or answer.missing_reason


@settings(STEP_CASES)
@given(streams)
def test_what_a_host_prints_is_written_and_read(tmp_path_factory: pytest.TempPathFactory, stream: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    snapshot = ask_hosts(stream)
    require_bounded(snapshot)
    first = INVENTORY.hosts[0].name
    texts = [
        answer.stdout for answer in snapshot.answers.values() if answer.location == first and not answer.missing_reason
    ]
    assert len([stdout for stdout in texts if stdout.startswith("an answer")]) >= 1
    for is_redacted in (False, True):
        write_recording(snapshot, path, redacted=is_redacted)
        for line in path.read_text().splitlines():
            json.loads(line, parse_constant=refuse_constant)
        second_recording = read_recording(path)
        assert second_recording.answers.keys() == snapshot.answers.keys()
        assert is_redacted or dict(second_recording.answers) == dict(snapshot.answers)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", ["end", "start", "status", "read", "read-status", "read-number"])
def test_a_number_that_is_none_costs_one_answer(tmp_path: Path, number: str, place: str) -> None:
    """Check that plan and its reports end as with any other lost answer."""
    name, other_probe = OF_HOST[:2]
    start, end, status = ("12.30", "12.50", "0")
    if place.startswith("read"):
        screens = {
            "read": ("0", "200", number),
            "read-status": ("0", number, "0.1"),
            "read-number": (number, "200", "0.1"),
        }
        lines = ["M @api 1.00 kube.readyz kube.nodes", "ok", f"M = {' '.join(screens[place])}", "M . 0 1.20"]
    else:
        start, end, status = {
            "end": (start, number, status), "start": (number, end, status), "status": (start, end, number),
        }[place]  # fmt: skip
        lines = [f"M {name} {start}", "x", f"M . {status} {end}"]
    snapshot = ask_hosts([*lines, f"M {other_probe} 12.30", "fine", "M . 0 12.50"])
    require_bounded(snapshot)
    assert snapshot.answers[other_probe, INVENTORY.hosts[1].name].stdout == "fine"
    write_recording(snapshot, tmp_path / "taken.jsonl")
    assert dict(read_recording(tmp_path / "taken.jsonl").answers).keys() == snapshot.answers.keys()
    plan_of_hosts = plan(snapshot, STEPS[:2])
    human.render_plan(Terminal(io.StringIO()), plan_of_hosts, verbose=True)
    json.loads(machine.render_plan(plan_of_hosts, verbose=True), parse_constant=refuse_constant)
    junit.render_plan(plan_of_hosts)


@pytest.mark.parametrize("seconds", ["1e999", "nan", "-1", "86401", "1e300", '"x"', "true", "1" + "0" * 400])
@pytest.mark.parametrize("field", ["seconds", "rc"])
def test_a_recording_with_such_a_number_is_refused_with_its_line(tmp_path: Path, seconds: str, field: str) -> None:
    snapshot = ask_hosts([])
    write_recording(snapshot, tmp_path / "taken.jsonl")
    odd = {"rc": "0", "seconds": "1.5"} | {field: seconds}
    line = f'{{"probe": "x", "location": "{CLUSTER}", "rc": {odd["rc"]}, "stdout": "", "seconds": {odd["seconds"]}}}'
    with (tmp_path / "taken.jsonl").open("a") as file:
        file.write(line)
    if (field, seconds) == ("rc", "-1"):
        assert read_recording(tmp_path / "taken.jsonl").answers["x", CLUSTER].rc == -1
        return
    with pytest.raises(UsageError, match="is no recording") as excinfo:
        read_recording(tmp_path / "taken.jsonl")
    assert f"line {len(snapshot.answers) + 2}" in excinfo.value.reason

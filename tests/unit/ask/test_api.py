"""Reads of the API: what their lines mean, and what the real script says where there is no API."""

import base64
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.answers import parse_answers
from gpustack.ask.api import ABSENT, describe_refusal
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.ask.script import render_script

MARK = "0123456789abcdef"

# Recorded: Prometheus 3.14.0 with query.maxSamples 5 (prometheus-operator/kube-prometheus#503).
MANY_SAMPLES = "query processing would load too many samples into memory in query execution"


def extract_text(answer: Answer) -> str:
    return answer.stdout


READYZ, NODES, PODS = (
    Probe("kube.readyz", Api("/readyz"), extract_text),
    Probe("kube.nodes", Api("/nodes", fields=("metadata.name", "status.conditions.type")), extract_text),
    Probe("kube.pods", Api("/pods"), extract_text),
)
PROBES = {probe.id: probe for probe in (READYZ, NODES, PODS)}
HEADER = f"{MARK} @api 1.00 kube.readyz kube.nodes kube.pods"


def collect_answers(*lines: str) -> dict[str, Answer]:
    return {answer.probe: answer for answer in parse_answers([HEADER, *lines], MARK, "h1", PROBES)}


def test_each_read_gets_its_own_body_and_only_the_named_fields_are_kept() -> None:
    status = '"status": {"conditions": [{"type": "Ready", "x": 1}], "y": 2}'
    lines = ['{"kind": "List", "items": [', f'{{"metadata": {{"name": "n", "uid": "u"}}, {status}}}]}}', ""]
    answers = collect_answers("ok", f"{MARK} = 0 200 0.004 ", *lines, f"{MARK} = 1 200 0.1 ", f"{MARK} . 0 1.30")
    ready, nodes = answers["kube.readyz"], answers["kube.nodes"]
    assert (ready.rc, ready.stdout, ready.location) == (0, "ok", "@cluster")
    assert nodes.stdout == '{"items":[{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready"}]}}]}'
    assert nodes.seconds == 0.1


def test_after_a_read_without_an_answer_the_others_say_the_same() -> None:
    refusal = "Failed to connect to 10.0.0.1 port 6443"
    answers = collect_answers("", f"{MARK} = 0 000 0.1 {refusal}", "", f"{MARK} . 7 1.30")
    assert {answer.stderr for answer in answers.values()} == {refusal}
    assert all(answer.rc for answer in answers.values())


def test_without_curl_each_read_says_so() -> None:
    answers = collect_answers("", f"{MARK} . 127 1.30", f"{MARK} !@api", "sh: 9: curl: not found", f"{MARK} done")
    assert {(answer.rc, answer.stderr) for answer in answers.values()} == {(127, "sh: 9: curl: not found")}


def test_reads_that_were_broken_off_yield_nothing() -> None:
    assert set(collect_answers("ok", f"{MARK} = 0 200 0.004 ", '{"items": [')) == {"kube.readyz"}


@pytest.mark.parametrize(
    ("status", "text", "body", "reason"),
    [
        ("200", "", "ok", ""),
        ("000", "Operation timed out", "", "Operation timed out"),
        ("000", "", "", "no answer"),
        ("403", "", '{"kind": "Status", "message": "nodes is forbidden"}', "nodes is forbidden"),
        (
            "500",
            "",
            "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed",
            "[-]etcd failed: reason withheld",
        ),
        ("502", "", "<html>bad gateway</html>", "HTTP 502"),
        (
            "422",
            "",
            f'{{"status":"error","errorType":"execution","error":"{MANY_SAMPLES}"}}',
            f"HTTP 422: {MANY_SAMPLES}",
        ),
        ("404", "", "404 page not found\n", ABSENT),
        ("404", "", '{"kind": "Status", "message": "services \\"a\\" not found"}', 'services "a" not found'),
    ],
)
def test_what_was_refused_is_reported_in_one_line(status: str, text: str, body: str, reason: str) -> None:
    assert describe_refusal(status, text, body) == reason


def query_api(tmp_path: Path, conf: str) -> dict[str, Answer]:
    file = tmp_path / "admin.conf"
    file.write_text(conf)
    script = render_script([READYZ, NODES], MARK, {}).replace("/etc/kubernetes/admin.conf", str(file))
    process = subprocess.run(["sh"], input=script, capture_output=True, text=True, timeout=30, check=True)
    lines = [*process.stdout.split("\n"), *process.stderr.split("\n")]
    return {answer.probe: answer for answer in parse_answers(lines, MARK, "h1", PROBES)}


def test_an_api_that_is_down_is_reported_by_the_real_curl(tmp_path: Path) -> None:
    pem = base64.b64encode(b"not read before the connection").decode()
    answers = query_api(tmp_path, f"    server: http://127.0.0.1:1\n    client-key-data: {pem}\n")
    assert set(answers) == {"kube.readyz", "kube.nodes"}
    assert all(answer.rc and "127.0.0.1" in answer.stderr for answer in answers.values())


def test_a_host_without_admin_conf_has_no_api_to_ask(tmp_path: Path) -> None:
    script = render_script([READYZ], MARK, {}).replace("/etc/kubernetes/admin.conf", str(tmp_path / "none"))
    process = subprocess.run(["sh"], input=script, capture_output=True, text=True, timeout=30, check=True)
    lines = [*process.stdout.split("\n"), *process.stderr.split("\n")]
    (answer,) = parse_answers(lines, MARK, "h1", PROBES)
    assert answer.rc
    assert "no such file" in answer.stderr

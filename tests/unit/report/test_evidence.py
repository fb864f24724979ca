"""A finding is followed by the command to type, and the line that its check quotes."""

import io
import json
from dataclasses import replace

from gpustack.ask.api import ADMIN
from gpustack.ask.judge import Judgement, Result
from gpustack.ask.probe import CLUSTER, Answer, Evidence
from gpustack.probes.host.system import IDENTITY
from gpustack.report.evidence import MAX_LINE, list_commands
from gpustack.report.findings import print_evidence
from gpustack.report.format import build_cleaner
from gpustack.report.terminal import Terminal
from tests.worlds.snapshots import hosts

LINKS = Evidence("h1", "ip -o link", Answer("network.links", "h1", 0, "lo UNKNOWN\neth0 DOWN\n"))
FILES = Evidence("h1", "cd /etc\nfor file in *; do", Answer("files", "h1", 0, "a"), "ls /etc")
NODES = Evidence(CLUSTER, f"kubectl {ADMIN} get --raw /api/v1/nodes", Answer("kube.nodes", CLUSTER, 0, "{}"))
REFUSED_EVIDENCE = Evidence("h1", "crictl info", Answer("containerd.runtime", "h1", 1, "", "connection refused"))
LOST_EVIDENCE = Evidence(
    "h1", "crictl ps", Answer("containerd.pods", "h1", -1, "", missing_reason="no answer within 5 s")
)


def show_commands(*results: Evidence, quote: str = "") -> list[str]:
    return list_commands(Judgement("id", "h1", "failed", Result("link", "up", "down", quote=quote), "", results), str)


def test_a_command_is_one_that_can_be_typed() -> None:
    assert show_commands(FILES, NODES, FILES) == ["h1 $ ls /etc", "the cluster $ kubectl get --raw /api/v1/nodes"]


def test_what_is_quoted_comes_first_with_its_line() -> None:
    assert show_commands(FILES, LINKS, quote="eth0 DOWN") == ["h1 $ ip -o link\n  → eth0 DOWN", "h1 $ ls /etc"]
    assert show_commands(FILES, LINKS, quote="eth1") == ["h1 $ ls /etc", "h1 $ ip -o link"]


def test_a_command_that_failed_says_so() -> None:
    assert show_commands(REFUSED_EVIDENCE, LOST_EVIDENCE) == [
        "h1 $ crictl info\n  → (ended with 1)",
        "h1 $ crictl ps\n  → no answer within 5 s",
    ]


def test_the_command_that_only_finds_the_node_of_a_host_is_left_out() -> None:
    identity = replace(FILES, answer=replace(FILES.answer, probe=IDENTITY.id), manual_command="cat /etc/machine-id")
    assert show_commands(identity, NODES) == ["the cluster $ kubectl get --raw /api/v1/nodes"]
    assert show_commands(identity) == ["h1 $ cat /etc/machine-id"]


def test_no_line_is_quoted_that_is_too_long_for_one() -> None:
    long = Evidence("h1", "cat a", Answer("a", "h1", 0, json.dumps({"a": "b" * MAX_LINE, "c": "d"})[1:]))
    assert show_commands(long, quote="d") == ["h1 $ cat a"]


def test_no_line_of_json_is_quoted() -> None:
    pods = replace(NODES, answer=replace(NODES.answer, stdout='{"a": 1}'))
    assert show_commands(pods, quote="a") == ["the cluster $ kubectl get --raw /api/v1/nodes"]


SECOND_LINKS = replace(LINKS, location="h2", answer=replace(LINKS.answer, location="h2"))
SECOND_FILES = replace(FILES, location="h2", answer=replace(FILES.answer, location="h2", stdout="b"))


def print_lines(*findings: list[Evidence]) -> list[str]:
    """Print the evidence of findings, one after the other."""
    console, shown_answers = Terminal(file=io.StringIO(), width=100), set[tuple[str, str]]()
    for evidence in findings:
        print_evidence(console, evidence, shown_answers)
    return [line.strip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_command_is_shown_once_for_all_hosts() -> None:
    assert print_lines([LINKS, SECOND_LINKS]) == ["h1, h2 $ ip -o link", "lo UNKNOWN", "eth0 DOWN"]
    assert print_lines([FILES, SECOND_FILES]) == ["h1, h2 $ ls /etc", "h1:", "a", "h2:", "b"]


def test_an_answer_is_shown_once() -> None:
    assert print_lines([FILES], [FILES, LINKS], [SECOND_FILES]) == [
        "h1 $ ls /etc", "a", "h1 $ ls /etc    (as above)", "h1 $ ip -o link", "lo UNKNOWN", "eth0 DOWN", "h2 $ ls /etc",
        "b",
    ]  # fmt: skip


def test_an_answer_in_json_is_counted() -> None:
    pods = replace(NODES, answer=replace(NODES.answer, stdout=json.dumps({"items": ["a" * 2000]})))
    assert print_lines([pods])[1:] == ["(JSON, 2,015 characters; -o json has more)"]


def test_a_quoted_line_is_cleaned() -> None:
    evidence = Evidence("h1", "cat a", Answer("a", "h1", 0, "user \x1b[2Jpassword: hunter2\n"))
    clean = build_cleaner(hosts.build_snapshot().inventory)
    (text,) = list_commands(
        Judgement("id", "h1", "failed", Result("a", "b", "c", quote="password"), "", (evidence,)), clean
    )
    assert "\x1b" not in text
    assert "hunter2" not in text

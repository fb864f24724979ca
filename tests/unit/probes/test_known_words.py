"""A probe reports only those words of a command line that gpustack sets."""

import subprocess

import pytest

from gpustack.ask.view import View
from gpustack.probes.standalone.units import SCRIPT
from gpustack.steps.standalone.files import build_exporters, build_monitoring
from tests.worlds.snapshots.standalone import build_installed_answers, build_snapshot

FUNCTION = SCRIPT[SCRIPT.index("known_words() {") : SCRIPT.index("echo '== packages'")]


def print_known(*words: str, end: str = "\0") -> str:
    """Return what is told of a process, whose words /proc/PID/cmdline ends with NUL (proc_pid_cmdline(5))."""
    line = ("\0".join(words) + end).encode()
    process = subprocess.run(
        ["sh", "-euc", f"{FUNCTION}known_words"], input=line, capture_output=True, check=True, timeout=30
    )
    return process.stdout.decode().removesuffix(" ")


def test_every_word_that_is_compared_is_printed() -> None:
    view = View(build_snapshot(build_installed_answers()), "w1")
    for component in (*build_exporters(view), *build_monitoring(view)):
        assert print_known(*component.command.split()) == component.command


@pytest.mark.parametrize("end", ["\0", ""])
@pytest.mark.parametrize(
    "words",
    [
        ("--web.basic-auth=figleaf", "--config.file=/etc/p.yml"),
        ("--token", "figleaf", "--config.file=/etc/p.yml"),
        ("a\nfigleaf\n--config.file=/x", "--config.file=/etc/p.yml"),
        ("", "--config.file=/etc/p.yml"),
    ],
)
def test_other_words_are_printed_as_question_marks(words: tuple[str, ...], end: str) -> None:
    unknown = " ?" * (len(words) - 1)
    assert (
        print_known("/usr/bin/prometheus", *words, end=end) == f"/usr/bin/prometheus{unknown} --config.file=/etc/p.yml"
    )


def test_a_program_of_another_place_is_printed_as_a_question_mark() -> None:
    assert print_known("/opt/figleaf/prometheus", "--web.listen-address=:9090") == "? --web.listen-address=:9090"

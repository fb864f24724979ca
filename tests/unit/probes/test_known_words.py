"""A probe reports only those words of a command line that gpustack sets."""

import subprocess
from pathlib import Path

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


# Printed by systemctl 252 of a Debian 12 lab host for a unit that runs, one that does not exist, and one that runs; the
# MainPID of the last is 0 here, so that no process of the machine that tests is read.
PROPERTIES = """MainPID=1
LoadState=loaded
ActiveState=active
UnitFileState=enabled

MainPID=0
LoadState=not-found
ActiveState=inactive
UnitFileState=

MainPID=0
LoadState=loaded
ActiveState=inactive
UnitFileState=disabled
"""


def test_all_units_are_asked_of_one_systemctl(tmp_path: Path) -> None:
    tools = {
        "systemctl": f"#!/bin/sh\necho asked >>{tmp_path}/log\ncat <<'END'\n{PROPERTIES}END\n",
        "dpkg-query": "#!/bin/sh\n",
    }
    for name, text in tools.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    process = subprocess.run(
        ["sh", "-su"],
        input=SCRIPT.replace("PACKAGES", "coreutils").replace("UNITS", "first second third"),
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    lines = process.stdout.splitlines()
    words = lines[lines.index("== units") + 1 : lines.index("== secrets")]
    assert [line.split()[:5] for line in words] == [
        ["first", "loaded", "active", "enabled", "no"],
        ["second", "not-found", "inactive", "-", "no"],
        ["third", "loaded", "inactive", "disabled", "no"],
    ]
    assert (tmp_path / "log").read_text() == "asked\n"

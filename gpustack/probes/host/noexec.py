"""Folders of programs whose file system forbids that they are run, as guides to harden a host demand it of others (CIS
Benchmark, options of partitions). The programs are there, and each says `permission denied`."""

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script


def parse_noexec(answer: Answer) -> tuple[str, ...]:
    """Parse one folder to a line. Raise ValueError where a line is no path."""
    folders = tuple(answer.stdout.splitlines())
    if not all(folder.startswith("/") for folder in folders):
        raise ValueError(shorten_message(answer.stdout))
    return folders


NOEXEC = Probe(
    "host.noexec",
    Lines(read_script(__file__, "noexec.sh")),
    parse_noexec,
    manual_command="findmnt -o TARGET,OPTIONS -T /opt/cni/bin",
)

"""Statistics of a job by a host engine, from the table of `dcgmi stats --job JOB --verbose`, which has no JSON.

DCGM 4.6.0, dcgmi/ProcessStats.cpp: STATS_HEADER, STATS_DATA, the section lines, and HelperDisplayJob*. A text that does
not fit in its cell ends with `...` (CommandOutputController.cpp, ReplaceTag). It was never seen live.

    +------------------------------------------------------------------------------+
    | GPU ID: 0                                                                    |
    +====================================+=========================================+
    |-----  Execution Stats  ------------+-----------------------------------------|
    | Start Time                         | Wed Nov 25 10:00:00 2026                |
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.engines.call import Reply

SECTION = re.compile(r"[|+]-+  (\S.*?)  -+\+-+[|+]")
GPU = re.compile(r"\| GPU ID: (\d+) +\|")
ROW = re.compile(r"\| ([^|]++)\| ([^|]*+)\|")
SLOWDOWN, PROCESS = "Slowdown Stats", "PID"


@dataclass(frozen=True)
class Figure:
    """Hold one figure. `gpu` is empty for a figure of all GPUs of the node; `value` is in DCGM's words, its unit stands
    in the name."""

    node: str
    gpu: str
    section: str
    figure: str
    value: str


def parse_figures(reply: Reply) -> Iterator[Figure]:
    """Parse the figures of a job. Slowdown is that of the node: DCGM prints the sum of all GPUs below each of them
    (ViewJobStats). Raise ValueError for a row outside of a section."""
    gpu = section = process = ""
    figures = dict[tuple[str, str, str], Figure]()
    for line in map(str.rstrip, reply.stdout.splitlines()):
        if match := GPU.fullmatch(line):
            gpu, section = match[1], ""
        elif match := SECTION.fullmatch(line):
            section, process = match[1], ""
        elif match := ROW.fullmatch(line):
            if not section:
                raise ValueError(line)
            value = match[2].rstrip(" ")
            name, figure_gpu = match[1].strip().removeprefix("Due to").strip(" -"), "" if section == SLOWDOWN else gpu
            process = value if name == PROCESS else process
            name = f"{PROCESS} {process} {name}" if process and name != PROCESS else name
            figures.setdefault((figure_gpu, section, name), Figure(reply.node, figure_gpu, section, name, value))
    yield from (figure for figure in figures.values() if figure.figure != PROCESS)

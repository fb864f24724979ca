"""Reports are printed on a terminal of 80 columns."""

import io
from collections.abc import Callable

from gpustack.doctor.graph import load_graph
from gpustack.report.terminal import Terminal
from tests.worlds.results import diagnoses

FAULT_COUNT = len(load_graph().faults)
COUNT_TEXT = f"{FAULT_COUNT - diagnoses.make_healthy_diagnosis().unchecked_faults} of {FAULT_COUNT} "


def print_screen(draw: Callable[[Terminal], None]) -> str:
    stream = io.StringIO()
    draw(Terminal(stream, width=80, color_system=None))
    text = stream.getvalue().replace(COUNT_TEXT, "N of M ")  # a fault more changes no golden
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())

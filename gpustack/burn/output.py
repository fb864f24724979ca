"""Output of dcgmproftester about the one GPU that it sees, with --no-dcgm-validation.

DCGM 4.6.0, dcgmproftester/: PhysicalGpu.cpp (the lines of each load, with {:#.3}: `0.851`, `1.66e+03`; the worker's
messages), DcgmProfTester.cpp (the lines of the end), DistributedCudaContext.cpp (RunTest: what the messages are).

    Worker 0:0 [1004]: TensorEngineActive:  generated ???, dcgm 0 (6.12e+05 gflops).
    Worker 0:0[1005]: DramUtil generated 0.851/0.853, dcgm 0 (1.66e+03 GiB/sec). bandwidthDivisor 1.00
    Worker 0:0[1007]: Fp32EngineActive: target max, dcgm 0
    Worker 0:0[1002]: SmOccupancy generated 1.0, dcgm0 at 5.00 seconds. threadPerSm 2048.
    Worker 0:0[1004]: Message: Bus ID 00000000:65:00.0 mapped to cuda device ID 0
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 9
    GPU 0, TestField 1004 test PASSED.

Three texts mislead. Without validation no value is read, and `dcgm 0` is printed in its place (GetLatestDcgmValues).
PASSED then says that the load ran, not which value it reached. `All Tests Passed.` also follows a test that was
skipped. It was never seen live.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Literal

from gpustack.ask.message import shorten_message
from gpustack.files.number import parse_number

Ending = Literal["passed", "failed", "none"]
NUMBER = r"(\d++\.?+\d*+(?:e[+-]\d++)?)"
LARGEST = 1e9
"""The bound of gflops and GiB/sec, a thousand times what a GPU reaches today."""
WORKER = r"^Worker \d+:\d+ ?\[(?P<id>\d+)\]: "
GEMM = re.compile(rf"{WORKER}\w+:  generated \?\?\?, dcgm .*\({NUMBER} gflops\)\.", re.MULTILINE)
MEMORY = re.compile(
    rf"{WORKER}DramUtil generated {NUMBER}/{NUMBER}, dcgm .*\({NUMBER} GiB/sec\)\. bandwidthDivisor {NUMBER}",
    re.MULTILINE,
)
TARGET = re.compile(rf"{WORKER}(?:\w+: target|SmOccupancy generated) ", re.MULTILINE)
END = re.compile(r"^GPU \d+, TestField (?P<id>\d+) test(?:ing)? (PASSED|FAILED)\.", re.MULTILINE)
CAPABILITY = re.compile(r"COMPUTE_CAPABILITY_MAJOR: (\d{1,3})\n.*COMPUTE_CAPABILITY_MINOR: (\d{1,3})$", re.MULTILINE)
REASON = re.compile(r"error|fail|wrong version|skipping test|not been implemented|returned", re.IGNORECASE)
REASONS = 3


@dataclass(frozen=True)
class Output:
    """Hold the parsed output. `ending` is that of the test of the field; none where the test did not end, or was
    skipped. `ticks` counts its lines under load. `bandwidth_share` is the share of the memory's bandwidth that it
    moved, `figure` its count in gflops or GiB/sec: medians of all lines, None where it counts nothing. DCGM's value is
    `divisor` times that, where ECC takes a part. `reasons` are lines that name an error."""

    ending: Ending = "none"
    ticks: int = 0
    bandwidth_share: float | None = None
    figure: float | None = None
    divisor: float = 1.0
    capability: tuple[int, int] | None = None
    reasons: tuple[str, ...] = ()


def parse_output(text: str, id: str) -> Output:
    """Parse the output for the field `id`. Lines of other shapes are left out, and a capability that no GPU has."""
    gemm = read_numbers(find_lines(GEMM, text, id))
    memory = read_numbers(find_lines(MEMORY, text, id))
    figures = [first for (first,) in gemm] or [second for _, _, second, _ in memory]
    ends = [word for (word,) in find_lines(END, text, id)]
    capability = CAPABILITY.search(text)
    return Output(
        ending="failed" if "FAILED" in ends else "passed" if ends else "none",
        ticks=len(gemm) + len(memory) + len(find_lines(TARGET, text, id)),
        bandwidth_share=median(current for _, current, _, _ in memory) if memory else None,
        figure=median(figures) if figures else None,
        divisor=memory[-1][-1] if memory else 1.0,
        capability=(int(capability[1]), int(capability[2])) if capability else None,
        reasons=tuple(find_reasons(text)),
    )


def find_lines(pattern: re.Pattern[str], text: str, id: str) -> list[tuple[str, ...]]:
    """Find the groups of a pattern beside the id, in the lines of this field."""
    return [match.groups()[1:] for match in pattern.finditer(text) if match["id"] == id]


def read_numbers(lines: Sequence[Sequence[str]]) -> list[tuple[float, ...]]:
    """Read the numbers of each line. A line with one that no GPU reaches is left out, like a line of another shape."""
    numbers = []
    for words in lines:
        with suppress(ValueError):
            numbers.append(tuple(parse_number(word.removesuffix("."), 0, LARGEST) for word in words))
    return numbers


def find_reasons(text: str) -> list[str]:
    """Find the first lines with a word of an error, each once, or else the last line."""
    lines = [shorten_message(" ".join(line.split())) for line in text.splitlines() if line.strip()]
    reasons = list(dict.fromkeys(line for line in lines if REASON.search(line)))
    return reasons[:REASONS] or lines[-1:]

"""The decisive words of each recording, and whether a report has them among its findings."""

from functools import cache
from pathlib import Path

import yaml

from gpustack.doctor.finding import Diagnosis
from gpustack.report.doctor.text import render_human
from gpustack.report.terminal import Terminal

WORDS = Path(__file__).with_name("decisive.yaml")
WIDTH = 100_000
"""A width at which no paragraph is wrapped."""
NO_FINDINGS = ("ruled out", "before it")


@cache
def load_words() -> dict[str, str]:
    words: dict[str, str] = yaml.safe_load(WORDS.read_text())
    return words


def find_words(name: str) -> str:
    """Find the decisive words of a recording, which are those of its fault unless it has its own. Raise KeyError where
    it has none."""
    words = load_words()
    return words[name] if name in words else words[name.partition("--")[0]]


def has_words(diagnosis: Diagnosis, words: str) -> bool:
    """Tell whether a finding has these words."""
    return words.lower() in print_findings(diagnosis).lower()


def print_findings(diagnosis: Diagnosis) -> str:
    """Print the findings of a report. What is ruled out, what is unknown and what changed before a state is none."""
    with (console := Terminal(width=WIDTH)).capture() as capture:
        render_human(console, diagnosis)
    lines = (line.strip() for line in capture.get().splitlines())
    return "\n".join(line for line in lines if not line.startswith(NO_FINDINGS) and " unknown: " not in line)

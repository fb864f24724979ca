"""Readers of outside data, each of which gives a result or an error of the product."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from typer.testing import CliRunner

from gpustack.ask.probe import FactUnavailable
from gpustack.cli.app import app
from gpustack.errors import GpustackError
from gpustack.exit_status import ExitStatus
from gpustack.proof.contents import ContentsUnknown
from gpustack.proof.http import NoAnswer
from gpustack.proof.pod import ApiRefused
from gpustack.serve.refusal import Refusal
from tests.unit.hostile.content import spoil_content

REFUSALS = (GpustackError, FactUnavailable, NoAnswer, ApiRefused, ContentsUnknown, Refusal)
"""Errors that commands report with a reason. Any other one is an internal error, exit status 70."""


@dataclass(frozen=True)
class Reader:
    """Describe a reader. `load` loads contents that are right, `read` reads one as the product does, with a folder for
    files, and `batch` is the number of cases for each draw: a command takes a hundred times as long as a parser."""

    name: str
    load: Callable[[], tuple[bytes, ...]]
    read: Callable[[bytes, Path], object]
    spoil: Callable[[Random, bytes], bytes] = spoil_content
    batch: int = 20

    def try_content(self, content: bytes, folder: Path) -> bool:
        """Read a content, and tell whether it was accepted. Raise what is no error of the product."""
        try:
            self.read(content, folder)
        except REFUSALS:
            return False
        return True

    def build_case(self, seed: int) -> bytes:
        random = Random(seed)
        return self.spoil(random, random.choice(self.load()))


def run_command(*words: str) -> None:
    """Run a command as typed. Raise its error, also where that is none of the product's."""
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, SystemExit):
        assert result.exception.code != ExitStatus.BUG, result.output
    elif result.exception is not None:
        raise result.exception

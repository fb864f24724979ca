"""The command `gpustack version`."""

from typing import TYPE_CHECKING

from gpustack.cli.help import declare_command
from gpustack.cli.option_groups import Output
from gpustack.cli.root import DIAGNOSE, ROOT
from gpustack.report.renderings import VERSIONS

if TYPE_CHECKING:
    from gpustack.config.program_versions import ProgramVersions


@declare_command(
    ROOT,
    "gpustack version",
    "gpustack version -o json",
    "gpustack --version",
    result=VERSIONS,
    heading=DIAGNOSE,
    short="Print the versions of gpustack and of what it installs.",
)
def version(*, output: Output) -> "ProgramVersions":
    """Print the versions of gpustack, of what it installs, and of Python and ansible-core that run it."""
    from gpustack.config.program_versions import read_program_versions

    return read_program_versions()

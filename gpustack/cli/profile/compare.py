"""`gpustack profile compare`."""

from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.profile.selection import ThresholdOption

FailOption = Annotated[
    list[str] | None,
    typer.Option("--fail-if", metavar="EXPR", help="End with 1 for this change, as 'tensor<-5%' (repeatable)."),
]


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Of `profile record`.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one.")],
    fail_if: FailOption = None,
    threshold: ThresholdOption = None,
    output: options.PageOutputOption = options.PageOutput.HUMAN,
) -> None:
    """Compare two profiles: useful work per GPU-hour, what changed beyond its noise, whether the machine was the same.

    Exits with 1 for a change that --fail-if names, with 8 where that cannot be told."""
    from gpustack.profile.compare import compare as judge
    from gpustack.profile.file import read_profile
    from gpustack.profile.gate import judge as judge_gate
    from gpustack.profile.gate import parse_gates
    from gpustack.profile.limits import set_limits
    from gpustack.report.codes import comparison_code
    from gpustack.report.render import show

    gates, limits = parse_gates(fail_if or ()), set_limits(threshold or ())
    found = judge(read_profile(before), read_profile(after), limits)
    gated = tuple(judge_gate(found, gate) for gate in gates)
    show(found, output.value, gates=gated)
    raise typer.Exit(comparison_code(found, gated))

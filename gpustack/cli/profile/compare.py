"""The command `gpustack profile compare`."""

from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli.option_groups import Output
from gpustack.cli.profile.selection import ThresholdOption

FailOption = Annotated[
    list[str] | None,
    typer.Option("--fail-if", metavar="EXPR", help="Exit with 1 for this change, such as 'tensor<-5%' (repeatable)."),
]


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="First file of `profile record`.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Second file of `profile record`.")],
    fail_if: FailOption = None,
    threshold: ThresholdOption = None,
    *,
    output: Output,
) -> None:
    """Compare two profiles: useful work per GPU-hour, changes outside noise, and the hosts and GPUs.

    The command exits with 1 for a change that --fail-if names, and with 8 if such a change cannot be judged."""
    from gpustack.profile.compare import compare_profiles
    from gpustack.profile.file import read_profile
    from gpustack.profile.gate import evaluate_gate, parse_gates, select_exit_status
    from gpustack.profile.limits import set_limits

    gates, limits = parse_gates(fail_if or ()), set_limits(threshold or ())
    comparison = compare_profiles(read_profile(before), read_profile(after), limits)
    gate_results = tuple(evaluate_gate(comparison, gate) for gate in gates)
    output.show(comparison, gates=gate_results)
    raise typer.Exit(select_exit_status(comparison, gate_results))

"""The ladder for people: the verdict, who runs on the node, the rungs with what each ends, and what refuses them."""

from gpustack.health.sign import MEANINGS
from gpustack.remediation.ladder import Ladder, Rung
from gpustack.remediation.result import Outcome, RemediationResult
from gpustack.report.findings import print_field, print_text
from gpustack.report.health.text import describe_reasons
from gpustack.report.human import print_next_command
from gpustack.report.nodes.text import CORDONS, print_holders, print_modules, print_residents
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration

INDENT = 16
STYLES: dict[Outcome, str] = {"none": "", "done": "green", "failed": "red"}


def render_ladder(console: Terminal, ladder: Ladder) -> None:
    case = ladder.case
    console.hide_secrets(case.inventory)
    print_text(console, f"{case.target.label}: {case.verdict}. {MEANINGS[case.verdict]}", "bold")
    for entry in case.gpus:
        if entry.verdict != "ok":
            # The index of a GPU that the driver lost is not known, and its UUID is wider than the column.
            uuid = "" if entry.gpu.index else f"{entry.gpu.uuid}: "
            print_field(console, f"GPU {entry.gpu.index}", f"{uuid}{entry.verdict}: {describe_reasons(entry)}", INDENT)
    print_field(console, "cordon", CORDONS[case.drain.cordon], INDENT)
    if case.drain.residents:
        print_residents(console, case.drain.residents, case.read_at)
    print_holders(console, case.drain)
    print_modules(console, case.drain)
    for act in case.acts or ():
        text = f"{act.begun_at:%Y-%m-%d %H:%M} UTC: {act.rung} by {act.author}, verdict {act.verdict}, {act.end}"
        print_field(console, "act", text, INDENT)
    if not ladder.rungs:
        print_text(console, "\nno rung: the verdict asks for nothing on the node")
        return
    console.print()
    console.print(draw_table(console, ("", "RUNG", "ENDS", "NEEDS"), map(list_cells, ladder.rungs)))
    for refusal in ladder.refusals:
        print_field(console, refusal.guard, f"refuses: {refusal.reason}", INDENT, "red", "red")


def list_cells(rung: Rung) -> tuple[str, ...]:
    return "" if rung.state == "open" else rung.state, rung.id, rung.ends or "-", rung.needs


def render_human(console: Terminal, result: RemediationResult, evidence: str = "") -> None:
    ladder, rung = result.ladder, result.ladder.next_rung
    if result.outcome == "none":
        render_ladder(console, ladder)
        print_text(console, "\nchecked only, nothing was changed" if result.only_checked else "\nnothing was changed")
    elif rung:
        reason = f": {result.reason}" if result.reason else ""
        text = f"{rung.id} of {ladder.case.target.label} {result.outcome} in {format_duration(result.seconds)}{reason}"
        print_text(console, text, STYLES[result.outcome])
    if result.stop_reason:
        print_text(console, f"stopped: {result.stop_reason}", "red")
    if result.exit_status and evidence:
        print_text(console, f"evidence: {evidence}")
    print_next_command(console, result.next_command)

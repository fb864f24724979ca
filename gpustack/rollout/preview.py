"""The preview of `plan --diff`: the drifted playbooks in Ansible's check mode, for the differences they show.

Nothing is judged by it: check mode cannot run command tasks, so what follows from one is not shown.
"""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.events import Reporter
from gpustack.files.json_text import dump_json
from gpustack.rollout.overlay import list_sources, write_overlay
from gpustack.rollout.plan import Plan
from gpustack.rollout.playbook import Ansible, Tally, run
from gpustack.rollout.private_folder import open_private_folder
from gpustack.steps.step import Step


def preview(plan: Plan, steps: tuple[Step, ...], report: Reporter) -> str:
    """Render the differences as text, by step, host and task."""
    lines: list[str] = []
    with open_private_folder() as private:
        overlay = list_sources(plan.inventory, write_overlay(plan.snapshot, private))
        ansible = Ansible(overlay, private, report, plan.inventory.typed_password)
        for step in steps:
            due = [state.location for state in plan.drifted_states if state.step == step.id]
            if not due:
                continue
            hosts = list(
                dict.fromkeys(
                    View(plan.snapshot, CLUSTER).acting_host if location == CLUSTER else location for location in due
                )
            )
            lines += ["", *list_differences(step.id, hosts, ansible)]
    return "\n".join(lines) + "\n" if any(lines) else ""


def list_differences(name: str, hosts: Sequence[str], ansible: Ansible) -> list[str]:
    """List what a playbook would change, and where check mode had to stop."""
    tally = Tally(ansible.report, name)
    run(name, hosts, ansible, tally, " --check --diff")
    blocks = [[f"{name} on {host}: {task}", *render_diff(diff)] for host, task, diff in tally.diffs]
    blocks += [[f"{name} on {bad.host}: check mode ends at: {bad.task}"] for bad in tally.failures]
    return [line for position, block in enumerate(blocks) for line in ([""] if position else []) + block]


def render_diff(diff: Any) -> Iterator[str]:
    """Render a diff of Ansible, one mapping or a list of them, with texts in `before` and `after`, or ready in
    `prepared`."""
    for entry in diff if isinstance(diff, list) else [diff]:
        if not isinstance(entry, dict):
            continue
        if entry.get("prepared"):
            yield from str(entry["prepared"]).splitlines()
            continue
        before, after = (split_lines(entry.get(side, "")) for side in ("before", "after"))
        headers = (str(entry.get("before_header", "before")), str(entry.get("after_header", "after")))
        yield from (line.rstrip("\n") for line in unified_diff(before, after, *headers, n=2))


def split_lines(content: Any) -> list[str]:
    text = content if isinstance(content, str) else dump_json(content, indent=1, sort_keys=True)
    return text.splitlines()

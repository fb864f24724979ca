"""The guard rails: named checks that stand between a person's yes and an act. None of them stops `--check`, the
diagnostic, the proof or an uncordon."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.checks.node_lookup import APP_LABEL, PROMETHEUS
from gpustack.doctor.states.node_labels import FINISHED_STATES, UPGRADE_STATE
from gpustack.errors import RolloutError
from gpustack.events import format_count
from gpustack.health.fleet import FRESH_SECONDS
from gpustack.health.judge import LEAST_SOURCES
from gpustack.probes.kubernetes.node_records import NodeRecord
from gpustack.remediation.act_record import parse_acts
from gpustack.remediation.case import Case
from gpustack.remediation.rungs import ACTS, RUNGS_BY_VERDICT, RungId
from gpustack.rollout.next_command import build_command
from gpustack.times import format_duration

MOST_OUT_SHARE = 0.1
MOST_ACTS = 2
COOL_DOWN = timedelta(hours=1)
WAVE_NODES, WAVE_SHARE = 3, 0.2
MOST_FAILURES, FAILURE_TIME = 2, timedelta(days=1)
DISRUPTIVE: frozenset[RungId] = frozenset({"reset", "device-plugin", "reboot"})
ALL_RUNGS: frozenset[RungId] = frozenset(ACTS)
VERDICT_RUNGS = ALL_RUNGS - {"device-plugin"}


@dataclass(frozen=True)
class Refusal:
    """Say why a guard rail refuses a rung, and what to do."""

    guard: str
    reason: str
    hint: Hint


@dataclass(frozen=True)
class Guard:
    """Describe a guard rail. `explain` says why it refuses, and returns an empty text where it does not."""

    id: str
    rungs: frozenset[RungId]
    explain: Callable[[Case], str]
    advise: Callable[[Case], Hint]


def list_gpu_nodes(case: Case) -> list[NodeRecord]:
    return [record for record in case.nodes if record.devices]


def explain_old_data(case: Case) -> str:
    """Explain why the verdict does not rest on data of now."""
    if reason := explain_clocks(case.read_at, case.health.time):
        return reason
    if unread := [record.name for record in case.nodes if parse_acts(record.remediation_record) is None]:
        return f"the record of acts (annotation gpustack.io/remediation) of {', '.join(unread)} cannot be read"
    if case.verdict == "unknown" or not case.gpus:
        return next((entry.reason for entry in case.gpus if entry.reason), "the verdict is unknown")
    return ""


def explain_clocks(read_at: datetime, time: float) -> str:
    """Explain why values of a Prometheus whose clock says `time` may be of another time than now."""
    difference = abs(read_at.timestamp() - time)
    if difference <= FRESH_SECONDS:
        return ""
    return f"the clocks of Prometheus and of this machine are {format_duration(difference)} apart"


def explain_single_signal(case: Case) -> str:
    """Explain why less than two sources ask for what a whole node has to stand still for."""
    counts = [len({sign.source for sign in entry.signs if sign.verdict in RUNGS_BY_VERDICT}) for entry in case.gpus]
    if max(counts, default=0) >= LEAST_SOURCES and case.verdict in RUNGS_BY_VERDICT:
        return ""
    reasons = [entry.reason for entry in case.gpus if entry.reason]
    return next(iter(reasons), f"the verdict is {case.verdict}, and two sources have to ask for more")


def explain_last_node(case: Case) -> str:
    """Explain why no other node takes pods with GPUs. Those of this node may not tolerate a taint that it has not."""
    taints = {
        node.name: {taint for taint in node.taints if not taint.endswith(":PreferNoSchedule")} for node in case.kubelets
    }
    other_nodes = [
        record
        for record in list_gpu_nodes(case)
        if record.name != case.node.name and record.ready and not record.cordoned and any(record.devices.values())
        if record.name in taints and taints[record.name] <= taints.get(case.node.name, set())
    ]
    return "" if other_nodes else "no other node that takes pods offers a GPU"


def explain_nodes_out(case: Case) -> str:
    """Explain why too many nodes are out of service already, whoever took them out."""
    nodes = list_gpu_nodes(case)
    nodes_out = sorted(
        record.name
        for record in nodes
        if record.name != case.node.name and (record.cordoned or not record.ready or record.gate)
    )
    node_limit = max(1, int(len(nodes) * MOST_OUT_SHARE))
    if len(nodes_out) + 1 <= node_limit:
        return ""
    verb = "is" if len(nodes_out) == 1 else "are"
    return f"{', '.join(nodes_out)} {verb} cordoned, not Ready or behind the gate; of {len(nodes)}, {node_limit} may be"


def explain_resets(case: Case) -> str:
    return explain_limit(case, "reset")


def explain_reboots(case: Case) -> str:
    return explain_limit(case, "reboot")


def explain_limit(case: Case, rung: str) -> str:
    """Explain why a rung was taken too often within the last seven days. A reboot that was killed is continued."""
    count = sum(act.rung == rung and act != case.killed_reboot for act in case.acts or ())
    return f"{format_count(count, rung)} within 7 days, {MOST_ACTS} at most" if count >= MOST_ACTS else ""


def explain_recent_act(case: Case) -> str:
    """Explain why the last act is too young: its effect is not seen yet. A reboot that was killed is continued."""
    acts = [act for act in case.acts or () if act.rung in DISRUPTIVE and act != case.killed_reboot]
    last = max(acts, key=lambda act: act.begun_at, default=None)
    if last is None or (age := case.read_at - last.begun_at) >= COOL_DOWN:
        return ""
    remaining = format_duration((COOL_DOWN - age).total_seconds())
    return f"the last act ({last.rung}, {last.end}, by {last.author}) is younger than 1 h; {remaining} left"


def explain_budgets(case: Case) -> str:
    reasons = dict.fromkeys(resident.budget_reason for resident in case.drain.residents if resident.budget_reason)
    return "; ".join(reasons)


def explain_evicted_prometheus(case: Case) -> str:
    """Explain why there would be no verdict after a drain. With a volume on the node, Prometheus runs nowhere else."""
    pods = [
        resident.pod.full_name
        for resident in case.drain.residents
        if resident.fate != "stays" and resident.pod.labels.get(APP_LABEL) == PROMETHEUS
    ]
    return f"{', '.join(pods)} is on the node, and a drain would evict what the verdict is read from" if pods else ""


def explain_foreign_cordon(case: Case) -> str:
    if case.drain.cordon != "others":
        return ""
    return f"{case.node.cordon_manager or 'somebody'} cordoned the node, and not gpustack"


def explain_unknown_host(case: Case) -> str:
    return "" if case.drain.host else f"the host of the node is unknown: {case.drain.unknown_holders_reason}"


def explain_own_host(case: Case) -> str:
    host = case.inventory.by_name.get(case.drain.host)
    return "gpustack runs on the host, and would end with it" if host and host.connection == "local" else ""


def explain_upgrade(case: Case) -> str:
    """Explain which upgrade or reboot is under way in the cluster."""
    versions = {node.kubelet for node in case.kubelets}
    if len(versions) > 1:
        return f"the kubelets have several versions: {', '.join(sorted(versions))}"
    rebooting = [record.name for record in case.nodes if record.reboot_record]
    if any(name != case.node.name for name in rebooting):
        return f"a reboot is under way: {', '.join(rebooting)}"
    states = {node.name: node.labels.get(UPGRADE_STATE, "") for node in case.gpu_nodes}
    upgrades = [f"{name} ({state})" for name, state in states.items() if state not in FINISHED_STATES]
    return f"the GPU operator upgrades drivers: {', '.join(upgrades)}" if upgrades else ""


def explain_breaker(case: Case) -> str:
    """Explain why acts are stopped in the whole cluster: many nodes at once have one cause, which is no GPU of them, or
    acts do not help."""
    count, nodes = sum(node.verdict in RUNGS_BY_VERDICT for node in case.health.nodes), len(case.health.nodes)
    if count >= WAVE_NODES and count > nodes * WAVE_SHARE:
        return f"{count} of {nodes} nodes ask for an act at once, which has one cause more likely than {count}"
    failures = [
        f"{record.name} ({act.rung})"
        for record in case.nodes
        for act in parse_acts(record.remediation_record) or ()
        if act.rung in DISRUPTIVE and act.end == "failed" and case.read_at - act.begun_at < FAILURE_TIME
    ]
    if len(failures) >= MOST_FAILURES:
        return f"{format_count(len(failures), 'act')} failed within a day: {', '.join(failures)}"
    return ""


def advise_doctor(case: Case) -> Hint:
    return build_command(case.inventory, "doctor")


def advise_health(case: Case) -> Hint:
    return build_command(case.inventory, "gpu", "health", "--node", case.node.name)


def advise_check(case: Case) -> Hint:
    return case.check_command


def advise_drain(case: Case) -> Hint:
    return build_command(case.inventory, "node", "drain", case.node.name, "--check")


def advise_nodes(case: Case) -> Hint:
    return Command("kubectl", "get", "nodes")


def advise_verify(case: Case) -> Hint:
    return build_command(case.inventory, "verify")


def advise_reboot(case: Case) -> Hint:
    return Prose("reboot {} by hand", case.drain.host)


def advise_vendor(case: Case) -> Hint:
    return build_command(case.inventory, "snapshot", "--redact", "addresses", "--out", f"{case.node.name}.jsonl")


def advise_person(case: Case) -> Hint:
    return Prose("ask who cordoned {}; gpustack leaves that cordon as it is", case.node.name)


GUARDS = (
    Guard("fresh-data", ALL_RUNGS, explain_old_data, advise_doctor),
    Guard("two-signals", VERDICT_RUNGS, explain_single_signal, advise_health),
    Guard("person-cordon", ALL_RUNGS, explain_foreign_cordon, advise_person),
    Guard("last-gpu-node", VERDICT_RUNGS, explain_last_node, advise_nodes),
    Guard("nodes-out", VERDICT_RUNGS, explain_nodes_out, advise_nodes),
    Guard("upgrade", ALL_RUNGS, explain_upgrade, advise_nodes),
    Guard("known-host", frozenset({"reset", "reboot"}), explain_unknown_host, advise_verify),
    Guard("own-host", frozenset({"reboot"}), explain_own_host, advise_reboot),
    Guard("budgets", frozenset({"drain"}), explain_budgets, advise_drain),
    Guard("prometheus-node", frozenset({"drain"}), explain_evicted_prometheus, advise_drain),
    Guard("resets-per-week", frozenset({"reset"}), explain_resets, advise_vendor),
    Guard("reboots-per-week", frozenset({"reboot"}), explain_reboots, advise_vendor),
    Guard("cool-down", DISRUPTIVE, explain_recent_act, advise_check),
    Guard("circuit-breaker", ALL_RUNGS, explain_breaker, advise_health),
)


def refuse_rung(refusals: Iterable[Refusal], rung: str, label: str) -> None:
    """Raise RolloutError where a guard rail refuses a rung."""
    all_refusals = tuple(refusals)
    if not all_refusals:
        return
    reason = "\n".join(f"{refusal.guard}: {refusal.reason}" for refusal in all_refusals)
    hint = next((refusal.hint for refusal in all_refusals if refusal.hint), NO_HINT)
    message = f"Guard rails refuse the rung {rung} of {label}; nothing was changed."
    raise RolloutError("remediation-refused", message, reason, hint)

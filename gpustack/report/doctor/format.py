"""Words that all forms of a diagnosis share."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.doctor.entry import Remediation
from gpustack.doctor.finding import Branch, Diagnosis, Finding, Peers, filter_judgements
from gpustack.doctor.graph import load_graph
from gpustack.doctor.health import list_facts
from gpustack.doctor.recent_change import RecentChange
from gpustack.events import format_count
from gpustack.report.format import MISSING_PREFIX, NOT_RECORDED, Clean, format_locations
from gpustack.times import format_duration

API_TEXTS = {"failed": "API down", "ok": "API reachable", "unknown": "API unknown"}
MAX_ENTRIES = 4
"""Lists are cut behind so many entries; -v shows the others."""


def format_remediation(remediation: Remediation) -> str:
    return remediation.replace("-", " ")


def choose_remediation(finding: Finding) -> Remediation:
    """Choose how `doctor --fix` treats a finding, for which its check may leave nothing to run."""
    if not finding.has_remedy:
        return "manual"
    return "needs-confirmation" if finding.commands.caution else load_graph().faults[finding.id].remediation


def describe_remediation(finding: Finding) -> str:
    """Describe how a fix is done, and why: `automatic: it only adds`."""
    reason = finding.commands.caution or load_graph().faults[finding.id].reason
    return f"{format_remediation(choose_remediation(finding))}: {reason}"


def format_heading(diagnosis: Diagnosis) -> str:
    """Format the head of the report: `3 hosts, API reachable, 61 facts, 4.2 s`."""
    snapshot = diagnosis.snapshot
    api = diagnosis.judgements.get(("st-apiserver-down", CLUSTER))
    facts = sum(not answer.missing_reason for answer in snapshot.answers.values())
    hosts = format_count(len(snapshot.inventory.hosts), "host")
    api_text = API_TEXTS[api.outcome if api else "unknown"]
    parts = (hosts, "" if diagnosis.selection and not api else api_text, format_count(facts, "fact"))
    heading = ", ".join(filter(None, (*parts, format_duration(snapshot.seconds))))
    return f"{heading}; {diagnosis.selection}" if diagnosis.selection else heading


def describe_facts(diagnosis: Diagnosis) -> str:
    """Describe what was read of a cluster: `healthy: 2 of 2 nodes Ready`. It is called healthy only where nothing is
    unknown, differs or may break. Of selected faults it says what rules them out, and of selected hosts nothing. Return
    an empty text where nothing of it was read."""
    if diagnosis.selection:
        names = set(diagnosis.selection.names)
        judgements = [judgement for judgement in filter_judgements(diagnosis.judgements, "ok") if judgement.id in names]
        return f"ruled out: {'; '.join(list_located_refutations(judgements))}" if judgements else ""
    facts = ", ".join(list_facts(diagnosis.snapshot))
    if diagnosis.healthy and not diagnosis.has_warnings:
        return f"healthy: {facts}" if facts else "healthy"
    return f"seen: {facts}" if facts else ""


def describe_health(diagnosis: Diagnosis) -> str:
    """Describe how many faults were checked on a healthy cluster, or on the selected part of one."""
    if diagnosis.selection:
        return "no fault found"
    fault_count = len(load_graph().faults)
    return f"no fault found ({fault_count - diagnosis.unchecked_faults} of {fault_count} known faults checked)"


def format_summary(diagnosis: Diagnosis) -> str:
    """Format the counts of all findings: `2 root causes, 1 unexplained, 3 risks`."""
    states = Counter(state.severity for state in diagnosis.abnormal_states)
    counts = (
        (len(diagnosis.select_roots("broken")), "root cause", ""),
        (len(diagnosis.unexplained_symptoms), "", "unexplained"),
        (states["broken"], "", "broken"),
        (len(diagnosis.drift), "difference", "from the spec"),
        (len(diagnosis.select_roots("risk")) + states["risk"], "risk", ""),
        (len(diagnosis.select_roots("note")) + states["note"] + len(diagnosis.verdict.notes), "note", ""),
    )
    parts = [
        " ".join(filter(None, (format_count(count, noun) if noun else str(count), suffix)))
        for count, noun, suffix in counts
        if count
    ]
    return ", ".join(parts) or "no root cause found"


def group_by_text(judgements: Iterable[Judgement], clean: Clean) -> dict[str, list[Judgement]]:
    """Group judgements by what they found, in the order of the first of each text."""
    groups: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(clean(str(judgement.result or judgement.reason)), []).append(judgement)
    return groups


def join_first(texts: Sequence[str], limit: int, suffix: str = "", separator: str = ", ") -> str:
    """Join the first texts and say how many more there are."""
    remaining_count = len(texts) - limit
    return separator.join(texts[:limit]) + (f"  (+{remaining_count}{suffix})" if remaining_count > 0 else "")


def describe_drift(diagnosis: Diagnosis, locations: Iterable[str]) -> list[str]:
    """Describe the differences from the spec at these locations. They may explain what is broken there."""
    places = set(locations)
    return [
        f"{drift.step}/{drift.check}: {drift.result!s}" for drift in diagnosis.drift if places & set(drift.locations)
    ]


def list_titles(judgements: Iterable[Judgement]) -> list[str]:
    """List the titles of the judged faults, each once with its locations."""
    return [format_title(id, locations) for id, locations in group_locations(judgements).items()]


def list_ids(judgements: Iterable[Judgement]) -> list[str]:
    """List the ids of the judged faults, as `gpustack explain` takes them, each once with its locations."""
    return [f"{id} ({format_locations(locations)})" for id, locations in group_locations(judgements).items()]


def group_locations(judgements: Iterable[Judgement]) -> dict[str, list[str]]:
    locations_by_id: dict[str, list[str]] = {}
    for judgement in judgements:
        locations_by_id.setdefault(judgement.id, []).append(judgement.location)
    return locations_by_id


def format_title(id: str, locations: Sequence[str]) -> str:
    location_suffix = "" if list(locations) == [CLUSTER] else f" ({format_locations(locations)})"
    return f"{load_graph()[id].title}{location_suffix}"


def list_refutations(judgements: Iterable[Judgement]) -> list[str]:
    """List the refuted faults as `id (the value that refuted it)`, each once with the value of its first location."""
    by_id = {judgement.id: judgement for judgement in reversed(list(judgements))}
    return [f"{judgement.id} ({judgement.result})" for judgement in reversed(by_id.values())]


def list_located_refutations(judgements: Iterable[Judgement]) -> list[str]:
    """List the refuted faults with their locations, as `id on gpu1, gpu2 (the value that refuted it)`."""
    locations: dict[tuple[str, str], list[str]] = {}
    for judgement in judgements:
        locations.setdefault((judgement.id, str(judgement.result)), []).append(judgement.location)
    return [f"{id} on {format_locations(places)} ({result})" for (id, result), places in locations.items()]


def describe_changes(changes: Iterable[RecentChange], clean: Clean) -> list[str]:
    """Describe changes as `/etc/… written (host2, 2 min earlier)`, without the seconds of long times and without the
    place of a change of the cluster."""
    return [
        f"{clean(change.description)} ({'' if change.location == CLUSTER else f'{change.location}, '}"
        f"{format_duration(round_seconds(change.seconds_ago))} earlier)"
        for change in changes
    ]


def round_seconds(seconds: int) -> int:
    return seconds if seconds < 600 else round(seconds / 60) * 60


def describe_healthy_hosts(peers: Iterable[Peers], clean: Clean) -> list[str]:
    """Describe what the check found on healthy hosts: `host2, host3: 1`."""
    return [f"{format_locations(peer.hosts)}: {clean(peer.actual)}" for peer in peers]


def join_reasons(judgements: Iterable[Judgement], clean: Clean) -> str:
    """Join the reasons of unknown judgements, each once."""
    return "; ".join(dict.fromkeys(clean(judgement.reason) for judgement in judgements))


def list_reason_counts(judgements: Iterable[Judgement], clean: Clean) -> list[str]:
    """List why checks are unknown, with counts, the most frequent reason first."""
    counts: dict[str, int] = {}
    for judgement in judgements:
        reason = NOT_RECORDED if judgement.reason.startswith(MISSING_PREFIX) else clean(judgement.reason)
        counts[reason] = counts.get(reason, 0) + 1
    return [f"{text} ({number})" for text, number in sorted(counts.items(), key=lambda pair: -pair[1])]


def draw_tree(branch: Branch, depth: int = 0) -> Iterator[str]:
    """Draw the tree of effects from the root cause down, one line per fault, indented by depth."""
    entry = load_graph()[branch.id]
    location_suffix = "" if branch.locations == (CLUSTER,) else f" ({format_locations(branch.locations)})"
    yield f"{'   ' * (depth - 1)}{'└─ ' if depth else ''}{branch.id}: {entry.title}{location_suffix}"
    for child in branch.branches:
        yield from draw_tree(child, depth + 1)

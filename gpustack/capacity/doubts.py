"""Doubts about figures: hours that were not recorded, labels that are missing, and teams that changed their name."""

from collections.abc import Iterator

from gpustack.capacity.usage import Usage
from gpustack.times import format_minute
from gpustack.vocabulary.contradiction import REMEDY, describe_side

MIN_AMOUNT = 0.01
NAME_LIMIT = 4


def find_doubts(usage: Usage) -> Iterator[str]:
    yield from find_gap_doubts(usage)
    yield from find_team_doubts(usage)
    yield from find_model_doubts(usage)
    yield from find_share_doubts(usage)
    yield from find_unit_doubts(usage)
    yield from find_sample_doubts(usage)
    yield from find_node_doubts(usage)
    yield from find_contradiction_doubts(usage)


def find_gap_doubts(usage: Usage) -> Iterator[str]:
    if usage.gaps:
        names = [f"{format_minute(gap.begin)} to {format_minute(gap.end)}" for gap in usage.gaps]
        missing_hours = usage.window_hours - usage.recorded_hours
        yield f"{missing_hours:.1f} of {usage.window_hours} hours were not recorded: {join_names(names)} (UTC)"
    if usage.bridged_hours >= MIN_AMOUNT:
        yield f"{usage.bridged_hours * 60:.0f} min of gaps shorter than half an hour count as the rest of their hour"


def find_team_doubts(usage: Usage) -> Iterator[str]:
    unlabeled_hours: dict[str, float] = {}
    allocated, days = 0.0, dict[tuple[str, str], set[str]]()
    for key, hours in usage.hours.items():
        if key.namespace is None:
            continue
        allocated += hours.allocated
        if not key.team:
            unlabeled_hours[key.namespace] = unlabeled_hours.get(key.namespace, 0.0) + hours.allocated
        elif hours.allocated:
            days.setdefault((key.namespace, key.team), set()).add(key.day)
    unlabeled_sum = sum(unlabeled_hours.values())
    if days and allocated and unlabeled_sum / allocated >= MIN_AMOUNT:
        namespaces = sorted(unlabeled_hours, key=lambda name: -unlabeled_hours[name])
        percent = unlabeled_sum / allocated * 100
        yield f"{percent:.0f} % of the allocated hours have no team label: {join_names(namespaces)}"
    yield from find_renames(days)


def find_renames(days: dict[tuple[str, str], set[str]]) -> Iterator[str]:
    """Find a team whose last day in a namespace is the first day of the only other team there."""
    spaces: dict[str, list[str]] = {}
    for namespace, team in days:
        spaces.setdefault(namespace, []).append(team)
    for namespace, teams in sorted(spaces.items()):
        if len(teams) != 2:
            continue
        old, new = sorted(teams, key=lambda team, namespace=namespace: min(days[namespace, team]))  # type: ignore[misc]
        first_day = min(days[namespace, new])
        if max(days[namespace, old]) <= first_day:
            yield (
                f"in {namespace}, team {old} ends on {first_day} and {new} begins: if it was renamed, "
                f"capacity.renamed: {{{old}: {new}}} adds their hours"
            )


def find_model_doubts(usage: Usage) -> Iterator[str]:
    nodes = {key.node for key, hours in usage.hours.items() if not key.model and hours.total > 0}
    if nodes:
        yield f"no exporter said which model the GPUs are of {join_names(sorted(nodes))}"


def find_share_doubts(usage: Usage) -> Iterator[str]:
    shared_hours = sum(hours.shared_hours for hours in usage.hours.values())
    if shared_hours >= MIN_AMOUNT:
        yield (
            f"{shared_hours:.1f} attributed hours are of GPUs that pods share: active and idle are of the whole GPU or "
            "MIG instance, for what each pod did is not measured"
        )


def find_unit_doubts(usage: Usage) -> Iterator[str]:
    if usage.unknown_units:
        units = sum(usage.unknown_units.values())
        yield (
            f"the GPU-hours of {join_names(sorted(usage.unknown_units))} are unknown, in no figure: {units:.1f} hours "
            "of their units, and neither a label of the node nor an exporter says how many GPUs a unit is"
        )


def find_sample_doubts(usage: Usage) -> Iterator[str]:
    for name, hours in sorted(usage.impossible_hours.items()):
        yield f"{hours} hours of {name} are left out: their values are no numbers, or cannot be"


def find_node_doubts(usage: Usage) -> Iterator[str]:
    """Find nodes that are gone. A node that was removed and one whose Prometheus is lost look the same."""
    if usage.gone_nodes:
        names = [f"{node} (until {format_minute(end)})" for node, end in sorted(usage.gone_nodes.items())]
        yield f"at the end of the time nothing was known of {join_names(names)}: removed, or no longer recorded"


def find_contradiction_doubts(usage: Usage) -> Iterator[str]:
    """Find GPUs whose activity is not what their profiling counters say."""
    for gpu in usage.contradictory_gpus[:NAME_LIMIT]:
        pair = f"{describe_side('engine', 0)}, {describe_side(gpu.witness, gpu.value)}"
        activity = "utilisation counts" if gpu.witness == "utilisation" else "its activity is unknown"
        yield f"{gpu.node} GPU {gpu.index}, {gpu.hours:.1f} hours: {pair}: both cannot be true, so {activity}; {REMEDY}"
    if remaining_gpus := usage.contradictory_gpus[NAME_LIMIT:]:
        yield f"so it is with {len(remaining_gpus)} more GPUs, for {sum(gpu.hours for gpu in remaining_gpus):.1f} hours"


def join_names(names: list[str]) -> str:
    suffix = f" and {len(names) - NAME_LIMIT} more" if len(names) > NAME_LIMIT else ""
    return f"{', '.join(names[:NAME_LIMIT])}{suffix}"

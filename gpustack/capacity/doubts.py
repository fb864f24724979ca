"""What a reader has to know of figures: what was not recorded, has no label, or has changed its name."""

from collections.abc import Iterator

from gpustack.capacity.usage import Usage
from gpustack.capacity.window import moment

ENOUGH = 0.95
"""Of the time that was asked for: a bill of less is none."""
FEW = 0.01
SHOWN = 4


def doubts_of(usage: Usage) -> Iterator[str]:
    yield from of_time(usage)
    yield from of_teams(usage)
    yield from of_models(usage)
    yield from of_shares(usage)


def of_time(usage: Usage) -> Iterator[str]:
    if usage.gaps:
        names = [f"{moment(one.begin)} to {moment(one.end)}" for one in usage.gaps]
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        missing = usage.asked - usage.recorded
        yield f"{missing:.1f} of {usage.asked} hours were not recorded: {', '.join(names[:SHOWN])}{more} (UTC)"
    if usage.bridged >= FEW:
        yield f"{usage.bridged * 60:.0f} min of gaps shorter than half an hour count as the rest of their hour"


def of_teams(usage: Usage) -> Iterator[str]:
    without: dict[str, float] = {}
    allocated, days = 0.0, dict[tuple[str, str], set[str]]()
    for key, hours in usage.hours.items():
        if key.namespace is None:
            continue
        allocated += hours.allocated
        if not key.team:
            without[key.namespace] = without.get(key.namespace, 0.0) + hours.allocated
        elif hours.allocated:
            days.setdefault((key.namespace, key.team), set()).add(key.day)
    lacking = sum(without.values())
    if days and allocated and lacking / allocated >= FEW:
        most = sorted(without, key=lambda name: -without[name])
        more = f" and {len(most) - SHOWN} more" if len(most) > SHOWN else ""
        yield f"{lacking / allocated:.0%} of the allocated hours have no team label: {', '.join(most[:SHOWN])}{more}"
    yield from renamed(days)


def renamed(days: dict[tuple[str, str], set[str]]) -> Iterator[str]:
    """A team whose last day in a namespace is the first of the only other one there."""
    spaces: dict[str, list[str]] = {}
    for namespace, team in days:
        spaces.setdefault(namespace, []).append(team)
    for namespace, teams in sorted(spaces.items()):
        if len(teams) != 2:
            continue
        old, new = sorted(teams, key=lambda team, namespace=namespace: min(days[namespace, team]))  # type: ignore[misc]
        begun = min(days[namespace, new])
        if max(days[namespace, old]) <= begun:
            yield (
                f"in {namespace}, team {old} ends on {begun} and {new} begins: if it was renamed, "
                f"capacity.renamed: {{{old}: {new}}} adds their hours"
            )


def of_models(usage: Usage) -> Iterator[str]:
    nodes = {key.node for key, hours in usage.hours.items() if not key.model and hours.total > 0}
    if nodes:
        names = sorted(nodes)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        yield f"no exporter said which model the GPUs are of {', '.join(names[:SHOWN])}{more}"


def of_shares(usage: Usage) -> Iterator[str]:
    if usage.shared >= FEW:
        yield (
            f"{usage.shared:.1f} allocated hours are of GPUs that pods share: active and idle are of the "
            "whole GPU there, for what each pod did is not measured"
        )

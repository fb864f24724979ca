"""Who works in the cluster, and what says so: namespaces, and the label `team` of pods.

Traps: a team is renamed within the month, and its pods that run keep the old label; half of the pods of another team
have no label; a team has two namespaces; a namespace has the label of its team, as kube_namespace_labels shows it.
"""

from dataclasses import dataclass

from tests.worlds.life.clock import DAY, NO_TIME, stream

NAMES = ("vision", "speech", "ranking", "robotics", "genomics", "support")


@dataclass(frozen=True)
class Team:
    """`later` is its name from `renamed` on. `labelled_share` is the share of its pods with the label."""

    name: str
    namespaces: tuple[str, ...]
    later: str
    renamed: float = NO_TIME
    labelled_share: float = 1.0

    def name_at(self, moment: float) -> str:
        return self.later if moment >= self.renamed else self.name


def draw_teams(seed: int, start: float) -> list[Team]:
    rng = stream(seed, "teams")
    first, second, *other_names = rng.sample(NAMES, rng.randint(3, 5))
    renamed = start + rng.randint(10 * DAY, 20 * DAY)
    return [
        Team(first, (first,), f"{first}-lab", renamed),
        Team(second, (f"{second}-train", f"{second}-serve"), second, labelled_share=0.5),
        *(Team(name, (name,), name) for name in other_names),
    ]

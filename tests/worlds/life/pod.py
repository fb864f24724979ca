"""A pod that asks for GPUs, from its creation to its deletion. The one source of all truth and of all series."""

from dataclasses import dataclass

from tests.worlds.life.clock import NO_TIME
from tests.worlds.life.hardware import Node, Pool


@dataclass(slots=True)
class Pod:
    """Times in seconds since 1970, NEVER where it has not come to pass.

    From its `binding` to a node on, its GPUs are nobody else's. At its `start` its images are there, at its `end` its
    containers have ended. `pull` is how long its images take, `seconds` how long it works. `used_units` of its `units`
    ever do anything. `label` is empty where the pod has none. `is_replacement`: it takes the place of one whose node
    or GPU went away.
    """

    namespace: str
    name: str
    uid: str
    team: str
    label: str
    kind: str
    owner_kind: str
    owner: str
    pool: Pool
    units: int
    used_units: int
    priority: int
    creation: float
    pull: float
    seconds: float
    patience: float
    linger: float
    is_replacement: bool = False
    binding: float = NO_TIME
    start: float = NO_TIME
    end: float = NO_TIME
    deletion: float = NO_TIME
    phase: str = "Succeeded"
    node: Node | None = None
    slots: tuple[int, ...] = ()

    @property
    def resource(self) -> str:
        return self.pool.resource

    @property
    def model(self) -> str:
        return self.pool.model

    @property
    def on(self) -> str:
        """Name of the node, empty while it waits."""
        return self.node.name if self.node else ""

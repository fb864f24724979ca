"""Sources of verdicts: readings of GPUs, and GPUs as nodes offer them, from a Prometheus; and those of hosts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gpustack.errors import MissingDataError
from gpustack.gpus.device import UTILISATION
from gpustack.gpus.queries import query_readings, query_sharing
from gpustack.health.gpu_signs import FIELDS as HEALTH_FIELDS
from gpustack.health.host_sources import NO_HOSTS, HostSources
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.readings import Readings
from gpustack.vocabulary.fields import DEV
from gpustack.vocabulary.memory import MEMORY

FIELDS = (*HEALTH_FIELDS, f"{DEV}GPU_TEMP", UTILISATION, *MEMORY)
"""The fields that say something of health, and those by which a GPU is known to be there."""
RESOURCES = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
OFFER_QUERY = f'{{__name__=~"kube_node_status_(capacity|allocatable)",{RESOURCES}}}'
CORDON_QUERY = "kube_node_spec_unschedulable == 1"
UNREADY_QUERY = 'kube_node_status_condition{condition="Ready",status="true"} == 0'
HEARD_QUERY = (
    "max by (node, UUID, modelName) ("
    "max_over_time(gpustack:gpu:info[30m]) or max_over_time(gpustack:gpu_heard:max30m[1d]))"
    " unless on (node) gpustack:node_gpus:count >= max_over_time(gpustack:node_gpus:count[1d])"
)
"""GPUs heard of within a day, of nodes that have fewer than they had within it. A Prometheus without gpustack's rules
has none of these."""


@dataclass(frozen=True)
class NodeOffer:
    """Hold what a node has and offers of NVIDIA's resources, by the name of the resource."""

    capacity: Mapping[str, int] = field(default_factory=dict)
    allocatable: Mapping[str, int] = field(default_factory=dict)

    @property
    def capacity_count(self) -> int:
        return sum(self.capacity.values())

    @property
    def withheld_count(self) -> int | None:
        """Return how many units the kubelet does not offer, None where one of both counts is missing."""
        if not self.capacity or self.capacity.keys() != self.allocatable.keys():
            return None
        return sum(max(0, count - self.allocatable[name]) for name, count in self.capacity.items())


@dataclass(frozen=True)
class HeardGpu:
    """Identify a GPU that sent values within a day."""

    node: str
    uuid: str
    model: str


@dataclass(frozen=True)
class Sources:
    """Hold what was read. `sharing` says by node how GPUs are shared. `time` is that of the server's clock. What the
    kubelets of `unready_nodes` said last is old; None where it is unknown which nodes are not Ready. `doubts` are
    sentences about what a recording of an older release lacks."""

    readings: Readings
    offers: Mapping[str, NodeOffer]
    cordoned_nodes: frozenset[str]
    sharing: Mapping[str, str]
    heard_gpus: tuple[HeardGpu, ...]
    time: float
    hosts: HostSources = NO_HOSTS
    unready_nodes: frozenset[str] | None = frozenset()
    doubts: tuple[str, ...] = ()

    def find_offer(self, node: str) -> NodeOffer:
        """Find what a node offers. What it offered before it was not Ready is left out."""
        offer = self.offers.get(node, NodeOffer())
        is_old = self.unready_nodes is None or node in self.unready_nodes
        return NodeOffer(offer.capacity) if is_old else offer

    @cached_property
    def divided_nodes(self) -> frozenset[str]:
        """The nodes with a GPU that is divided into MIG instances."""
        return frozenset(reading.gpu.node for reading in self.readings.newest if reading.gpu.instance)


def read_sources(prometheus: Prometheus, hosts: HostSources = NO_HOSTS) -> Sources:
    """Read the sources in Prometheus, beside those of hosts. Raise MissingDataError where it knows of no GPU."""
    time = prometheus.fetch_time()
    offers = build_offers(prometheus.query_instant(OFFER_QUERY))
    try:
        readings = query_readings(prometheus, FIELDS)
    except MissingDataError as error:
        if error.reference != "gpu-no-series" or not any(offer.capacity_count for offer in offers.values()):
            raise
        readings = Readings((), (f"{error}",))
    doubts: list[str] = []
    heard_series = query_newer(prometheus, HEARD_QUERY, "Which GPUs sent values within a day", doubts)
    unready = query_newer(prometheus, UNREADY_QUERY, "Which nodes are Ready, and so what kubelets offer,", doubts)
    return Sources(
        readings,
        offers,
        list_nodes(prometheus.query_instant(CORDON_QUERY)),
        query_sharing(prometheus),
        tuple(
            HeardGpu(*(series.labels.get(name, "") for name in ("node", "UUID", "modelName")))
            for series in heard_series or ()
        ),
        time,
        hosts,
        None if unready is None else list_nodes(unready),
        tuple(doubts),
    )


def query_newer(prometheus: Prometheus, query: str, subject: str, doubts: list[str]) -> tuple[Series, ...] | None:
    """Ask a query that older releases did not ask, or asked in other words. Return None, and add a doubt, for a
    recording of one of them."""
    try:
        return prometheus.query_instant(query)
    except MissingDataError as error:
        if error.reference != "metrics-recording":
            raise
        doubts.append(f"{subject} is unknown: the recording is of another release, which did not ask it.")
        return None


def list_nodes(series_list: Iterable[Series]) -> frozenset[str]:
    return frozenset(series.labels.get("node", "") for series in series_list)


def build_offers(series_list: tuple[Series, ...]) -> dict[str, NodeOffer]:
    """Build the offer of each node. A count that is no number is missing."""
    counts: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for series in series_list:
        capacity, allocatable = counts.setdefault(series.labels.get("node", ""), ({}, {}))
        count = series.find_newest_count()
        if count is not None:
            kind_counts = capacity if series.labels.get("__name__", "").endswith("capacity") else allocatable
            kind_counts[series.labels.get("resource", "")] = count
    return {node: NodeOffer(capacity, allocatable) for node, (capacity, allocatable) in counts.items() if node}

"""Traffic of the hosts' network cards while a job ran, as node-exporter counts it. DCGM does not see it.

A node-exporter is joined with its node by its pod (kube-state-metrics), else by the name that its kernel has. Cards
whose speed is not known are left out: a share of it is what is compared.
"""

from collections.abc import Iterable, Mapping

from gpustack.errors import MissingDataError, UsageError
from gpustack.metrics.prometheus import Prometheus

INTERNAL_DEVICES = "lo|veth.*|cni.*|cali.*|flannel.*|docker.*|br-.*|tunl.*|vxlan.*"
DIRECTIONS = {"receive": "received", "transmit": "transmitted"}


def query_network_shares(prometheus: Prometheus, nodes: Iterable[str], begin: float, end: float) -> Mapping[str, float]:
    """Query the share of its speed that the busiest card of each node moved, in the busier direction. A node that no
    node-exporter tells of is not there."""
    shares: dict[str, float] = {}
    for direction in DIRECTIONS:
        try:
            series_list = prometheus.query_instant(build_query(direction, max(1, round(end - begin))), end)
        except (UsageError, MissingDataError):  # This server joins other labels, or answers in part.
            return {}
        for series in series_list:
            name, share = shorten_name(series.labels.get("node", "")), series.find_newest_value()
            if name and share is not None:
                shares[name] = max(share, shares.get(name, 0.0))
    return {node: shares[name] for node in nodes if (name := shorten_name(node)) in shares}


def shorten_name(node: str) -> str:
    return node.partition(".")[0].lower()


def build_query(direction: str, seconds: int) -> str:
    ethernet = (
        f'rate(node_network_{direction}_bytes_total{{device!~"{INTERNAL_DEVICES}"}}[{seconds}s])'
        " / (node_network_speed_bytes > 0)"
    )
    infiniband = (
        f"rate(node_infiniband_port_data_{DIRECTIONS[direction]}_bytes_total[{seconds}s])"
        " / (node_infiniband_rate_bytes_per_second > 0)"
    )
    share = f"({ethernet} or {infiniband})"
    by_pod = (
        f"max by (namespace, pod) {share} * on (namespace, pod) group_left (node)"
        " max by (namespace, pod, node) (kube_pod_info)"
    )
    by_kernel = (
        f"max by (instance) {share} * on (instance) group_left (nodename) max by (instance, nodename) (node_uname_info)"
    )
    return f'max by (node) ({by_pod}) or max by (node) (label_replace({by_kernel}, "node", "$1", "nodename", "(.+)"))'

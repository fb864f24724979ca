"""Settings that are fixed when the cluster is created, each with the checks that judge it before that.

Neither kubeadm nor gpustack changes these settings of a cluster. What a wrong one causes later is a fault of the
doctor. `install` refuses to create a cluster with it, before anything is changed on any host.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.ask.judge import Check, Judgement, judge
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.steps.containerd import running
from gpustack.steps.other_cluster import is_member
from gpustack.steps.prereqs import host, identity, networks
from gpustack.steps.step import format_check_name


@dataclass(frozen=True)
class FixedSetting:
    """Describe a setting. `keys` are those of the files that kubeadm reads, `checks` are of steps before control-plane,
    and `faults` are those that the doctor finds where the setting is wrong. A setting `of_cluster` is judged on all
    hosts; any other one is each node's own, and keeps a cluster from being created on the control plane alone."""

    keys: tuple[str, ...]
    checks: tuple[Check, ...]
    faults: tuple[str, ...]
    of_cluster: bool = False


FIXED_SETTINGS = (
    FixedSetting(
        ("controlPlaneEndpoint", "discovery.bootstrapToken.apiServerEndpoint"),
        (networks.api_endpoint,),
        ("join-endpoint-unreachable",),
        of_cluster=True,
    ),
    FixedSetting(
        ("networking.podSubnet", "networking.serviceSubnet"),
        (networks.networks,),
        ("cidr-overlaps-host-network",),
        of_cluster=True,
    ),
    FixedSetting(
        ("localAPIEndpoint.advertiseAddress", "nodeRegistration.kubeletExtraArgs"),
        (identity.node_address,),
        ("kubelet-wrong-node-ip", "node-ip-changed"),
    ),
    FixedSetting(
        ("nodeRegistration.name",),
        (identity.node_name, identity.machine_id),
        ("host-hostname-invalid", "host-duplicate-identity"),
    ),
    FixedSetting(
        ("cgroupDriver", "failCgroupV1"),
        (host.cgroup_version, running.cgroups),
        ("containerd-cgroup-driver", "host-cgroup-v1"),
    ),
    FixedSetting(("etcd.local.dataDir",), (host.etcd_disk,), ("etcd-slow-disk",)),
)


def find_obstacles(snapshot: Snapshot) -> Iterator[Judgement]:
    """Find what only a person can correct before the cluster is created. Yield nothing where a control plane is in a
    cluster, or no control plane is known not to be in one."""
    planes = [View(snapshot, plane.name) for plane in snapshot.inventory.control_planes]
    known_planes = [view for view in planes if view.has_fact(LEFTOVERS)]
    if not known_planes or any(map(is_member, known_planes)):
        return
    reached_hosts = [member for member in snapshot.inventory.cluster_hosts if View(snapshot, member.name).reached]
    for setting in FIXED_SETTINGS:
        for member in reached_hosts:
            if setting.of_cluster or member.control_plane:
                for check in setting.checks:
                    judgement = judge(format_check_name(check), check, snapshot, member.name)
                    if judgement.result and judgement.result.cure == "operator":
                        yield judgement

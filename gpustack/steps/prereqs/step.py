"""Prepares a Linux host to be a node.

What it does: installs the packages that kubeadm, the kubelet and the network need; loads the modules overlay and
br_netfilter now and at boot; sets net.ipv4.ip_forward and net.bridge.bridge-nf-call-{iptables,ip6tables} now and at
boot; disables swap permanently; starts a time service if there is none. If the spec has a proxy, the host asks for one
file through it before anything changes; then apt and the downloads of gpustack use it:
/etc/apt/apt.conf.d/99gpustack-proxy and /etc/gpustack-cluster/proxy.env. The CAs of `proxy.ca_file` and
`source.ca_file` are trusted by the host: /usr/local/share/ca-certificates/gpustack-*.crt.

What it never does: it does not change the kernel, the hostname or the clock, and stops none of your programs. Problems
that only a person can solve (too little memory, a port in use, another Kubernetes on the host) are reported with the
reason before anything is changed.

Settings: `minimum`, `swap`, `time_sync`, `proxy`, `source.simulated`, `source.ca_file`, `kubelet.failCgroupV1`,
`kubernetes.endpoint`, `kubernetes.pod_cidr`, `kubernetes.service_cidr`, `gpustack_node_ip` of a host.

On a host without Kubernetes (group gpu_standalone) it only sets up the proxy and installs ca-certificates, curl and
gpg.

How to remove another Kubernetes: docs/other-kubernetes.md.

Sources: kubernetes.io install-kubeadm "Before you begin", container-runtimes "Prerequisites".
"""

from gpustack.probes.containerd.mirror import MIRROR_STATE
from gpustack.probes.control_plane.etcd import ETCD_FILE_SYSTEM
from gpustack.probes.host.egress import EGRESS
from gpustack.probes.host.system import CAPACITY, CGROUP, HOSTNAME, IDENTITY, OS, PYTHON, SUDO
from gpustack.probes.host.units import CLOCK, UNITS
from gpustack.probes.kernel.settings import MODULES, SWAP, SYSCTL
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS, TEMPORARIES
from gpustack.probes.network.addresses import ADDRESS, ADDRESSES, LISTENERS, ROUTES
from gpustack.probes.network.endpoint_name import ENDPOINT_ADDRESSES
from gpustack.probes.network.nameservers import NAMESERVERS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import PACKAGES
from gpustack.steps.prereqs import host as prereqs_host
from gpustack.steps.prereqs import identity as prereqs_identity
from gpustack.steps.prereqs import kernel as prereqs_kernel
from gpustack.steps.prereqs import mirror as prereqs_mirror
from gpustack.steps.prereqs import networks as prereqs_networks
from gpustack.steps.prereqs import other_software as prereqs_other_software
from gpustack.steps.prereqs import software as prereqs_software
from gpustack.steps.step import Step, accepts_any_host

STEP = Step(
    "prereqs",
    scope="host",
    probes=(
        OS, HOSTNAME, IDENTITY, CAPACITY, CGROUP, PYTHON, SUDO, PACKAGES, MODULES, SYSCTL, SWAP, UNITS, CLOCK, ADDRESS,
        ADDRESSES, LISTENERS, LEFTOVERS, TEMPORARIES, EGRESS, MIRROR_STATE, SOURCES, ROUTES, NAMESERVERS,
        ENDPOINT_ADDRESSES, ETCD_FILE_SYSTEM,
    ),
    checks=(
        *prereqs_host.CHECKS, *prereqs_identity.CHECKS, *prereqs_networks.CHECKS,
        *prereqs_other_software.CHECKS, *prereqs_mirror.CHECKS, *prereqs_software.CHECKS, *prereqs_kernel.CHECKS,
    ),
    settle_seconds=30,
    includes_host=accepts_any_host,
    standalone_checks=(
        prereqs_host.system, prereqs_host.architecture, prereqs_host.python, prereqs_host.sudo,
        prereqs_identity.machine_id, *prereqs_mirror.CHECKS, prereqs_software.egress, prereqs_software.package_sources,
        prereqs_software.packages,
    ),
)  # fmt: skip

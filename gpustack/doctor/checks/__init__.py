"""Checks of the doctor, by layer: CHECKS has all but the checks of steps. PAIRS lists the hosts that an edge between
different hosts joins (graph_pairs of the catalogue)."""

from collections.abc import Callable, Mapping

from gpustack.ask.view import View
from gpustack.doctor.check import Blocks, Check
from gpustack.doctor.checks import (
    autoscaling,
    control_plane,
    dns,
    etcd,
    helm,
    kube_proxy,
    kubelet,
    network,
    registry,
    scheduling,
)
from gpustack.doctor.checks.cni import flannel as cni_flannel
from gpustack.doctor.checks.cni import host as cni_host
from gpustack.doctor.checks.cni import overlay as cni_overlay
from gpustack.doctor.checks.cni import pod_network
from gpustack.doctor.checks.cni import sandbox as cni_sandbox
from gpustack.doctor.checks.containerd import daemon as containerd
from gpustack.doctor.checks.containerd import pods as containerd_pods
from gpustack.doctor.checks.containerd import settings as containerd_settings
from gpustack.doctor.checks.gpu import driver as gpu_driver
from gpustack.doctor.checks.gpu import health as gpu_health
from gpustack.doctor.checks.gpu import images as gpu_images
from gpustack.doctor.checks.gpu import operator as gpu_operator
from gpustack.doctor.checks.gpu import operator_cluster as gpu_operator_cluster
from gpustack.doctor.checks.gpu import runtime as gpu_runtime
from gpustack.doctor.checks.host import boot as host_boot
from gpustack.doctor.checks.host import disk as host_disk
from gpustack.doctor.checks.host import firewall as host_firewall
from gpustack.doctor.checks.host import identity as host_identity
from gpustack.doctor.checks.host import kernel as host_kernel
from gpustack.doctor.checks.host import links as host_links
from gpustack.doctor.checks.host import packages as host_packages
from gpustack.doctor.checks.host import reach as host_reach
from gpustack.doctor.checks.kubeadm import cluster as kubeadm
from gpustack.doctor.checks.kubeadm import hosts as kubeadm_hosts
from gpustack.doctor.checks.monitoring import exporter as monitoring_exporter
from gpustack.doctor.checks.monitoring import grafana as monitoring_grafana
from gpustack.doctor.checks.monitoring import scrape as monitoring_scrape
from gpustack.doctor.checks.monitoring import selectors as monitoring
from gpustack.doctor.checks.monitoring import stack as monitoring_stack
from gpustack.doctor.checks.monitoring import targets as monitoring_targets
from gpustack.doctor.checks.pairs import pair_all_hosts, pair_planes_with_hosts

CHECKS: tuple[Check, ...] = (
    *autoscaling.CHECKS,
    *cni_flannel.CHECKS,
    *cni_host.CHECKS,
    *cni_overlay.CHECKS,
    *cni_sandbox.CHECKS,
    *containerd.CHECKS,
    *containerd_pods.CHECKS,
    *containerd_settings.CHECKS,
    *control_plane.CHECKS,
    *dns.CHECKS,
    *etcd.CHECKS,
    *gpu_driver.CHECKS,
    *gpu_health.CHECKS,
    *gpu_images.CHECKS,
    *gpu_runtime.CHECKS,
    *gpu_operator.CHECKS,
    *gpu_operator_cluster.CHECKS,
    *helm.CHECKS,
    *host_boot.CHECKS,
    *host_disk.CHECKS,
    *host_firewall.CHECKS,
    *host_identity.CHECKS,
    *host_kernel.CHECKS,
    *host_links.CHECKS,
    *host_packages.CHECKS,
    *host_reach.CHECKS,
    *kube_proxy.CHECKS,
    *kubeadm.CHECKS,
    *kubeadm_hosts.CHECKS,
    *kubelet.CHECKS,
    *monitoring.CHECKS,
    *monitoring_exporter.CHECKS,
    *monitoring_grafana.CHECKS,
    *monitoring_scrape.CHECKS,
    *monitoring_stack.CHECKS,
    *monitoring_targets.CHECKS,
    *network.CHECKS,
    *pod_network.CHECKS,
    *registry.CHECKS,
    *scheduling.CHECKS,
)
BY_ID: Mapping[str, Check] = {check.id: check for check in CHECKS}
PAIRS: Mapping[str, Callable[[View], Blocks]] = {"plane-to-hosts": pair_planes_with_hosts, "every-host": pair_all_hosts}

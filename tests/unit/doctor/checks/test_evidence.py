"""Evidence that a risk explains what does not work: each condition is confirmed by an answer that has it. It is refuted
by the answers of a healthy cluster, or by one in which something else is to blame."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.checks import BY_ID
from gpustack.doctor.diagnose import find_locations
from gpustack.doctor.graph import load_graph
from tests.unit.doctor.checks.evaluation import evaluate
from tests.unit.doctor.states.objects import build_healthy, make_crash_loop, read_items
from tests.worlds.snapshots.answers import make_answer, make_list, read_case

KUBELET_FAILS = "unknown flag: --container-runtime"
SANDBOX = 'unable to get OCI runtime for sandbox "a6137c4e0dbc02691dcd77fe5e4b2a95379175e6e8bd0be47f78d28b63eb9472"'
OTHER_KERNEL = read_case("kernel.boot", "upgraded")
NEWER = read_case(
    "gpu.kernels", "newer-kernel", ("6.1.0-9-amd64 yes 595.91.07\n6.1.0-28", "6.1.0-28-amd64 no -\n6.1.0-28")
)
# containerd docs/cri/config.md: a table of version 2 in a file of version 3.
OLD_TABLE = """== config.toml 1795237300
version = 3
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
"""
EXCLUSION = "2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"
BOTH_BACKENDS = ("0 0 0", "2 15 105")


def fail_kubelet(message: str) -> Answer:
    """Make a kubelet that ended with this message, constructed from kubernetes/kubernetes cmd/kubelet and
    pkg/kubelet."""
    return read_case("kubelet.start", "unknown-flag", (KUBELET_FAILS, message))


def change(probe: str, old: str, new: str, location: str = "k1") -> Answer:
    answer = build_healthy().answers[probe, location]
    assert old in answer.stdout, answer.stdout
    return replace(answer, stdout=answer.stdout.replace(old, new))


def fail_sandbox(message: str) -> tuple[Answer, ...]:
    pod = {
        "metadata": {"namespace": "kube-system", "name": "p", "uid": "uid-p"},
        "spec": {"nodeName": "k1"},
        "status": {},
    }
    event = {"involvedObject": {"uid": "uid-p"}, "lastTimestamp": "2026-11-21T04:59:00Z", "message": message}
    return make_list("pods.starting", [pod]), make_list("pods.sandbox-failures", [event])


def make_driver_pod(*, ready: bool) -> Answer:
    pod: Any = read_items("gpu.pods")[0]
    pod["metadata"] |= {"name": "nvidia-driver-daemonset-x", "labels": {"app": "nvidia-driver-daemonset"}}
    pod["spec"]["nodeName"] = "k1"
    pod["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
    return make_list("gpu.pods", [pod])


def make_resolver(exit_code: int) -> Answer:
    """Make a CoreDNS that ended: with 1 where its plugin loop found one (coredns plugin/loop)."""
    pod: Any = read_items("pods.system")[0]
    pod["metadata"] |= {"name": "coredns-x", "labels": {"k8s-app": "kube-dns"}}
    pod["spec"]["nodeName"] = "k1"
    pod["status"]["containerStatuses"] = [make_crash_loop("coredns", exit_code)]
    return make_list("pods.system", [pod])


# By edge: answers that show that the cause has this effect, and others that refute it; none are those of the healthy
# cluster.
EVIDENCE: dict[str, tuple[tuple[Answer, ...], tuple[Answer, ...]]] = {
    "host-cgroup-v1 -> st-kubelet-down": (
        (fail_kubelet("kubelet is configured to not run on a host using cgroup v1"),), (fail_kubelet(KUBELET_FAILS),),
    ),
    "host-hostname-invalid -> st-kubelet-down": (
        (fail_kubelet('Node "host1" is invalid'),), (fail_kubelet(KUBELET_FAILS),),
    ),
    "host-modules-not-persisted -> flannel-br-netfilter-missing": ((OTHER_KERNEL,), ()),
    "host-modules-not-persisted -> containerd-cri-disabled": ((OTHER_KERNEL,), ()),
    "host-reboot-pending-kernel -> vxlan-module-missing": ((OTHER_KERNEL,), ()),
    "host-reboot-pending-kernel -> flannel-br-netfilter-missing": ((OTHER_KERNEL,), ()),
    "host-reboot-pending-kernel -> gpu-driver-not-loaded": ((NEWER,), (read_case("gpu.kernels", "no-headers"),)),
    "host-reboot-pending-kernel -> gpu-kernel-headers-missing": ((NEWER,), (read_case("gpu.kernels", "no-headers"),)),
    "host-docker-preinstalled -> containerd-cri-disabled": (
        (change("containerd.configuration", "disabled_plugins = []", 'disabled_plugins = ["cri"]'),), (),
    ),
    "host-docker-preinstalled -> multiple-cri-sockets": (
        (read_case("containerd.neighbours", "both"),),
        (read_case("containerd.neighbours", "both", ("/run/cri-dockerd.sock\n", "")),),
    ),
    "host-docker-preinstalled -> forward-policy-drop": ((read_case("cni.forwarding", "docker"),), ()),
    "host-apparmor-parser-missing -> st-sandbox-fails": (
        fail_sandbox('apparmor_parser: executable file not found in $PATH'), fail_sandbox(SANDBOX),
    ),
    "containerd-config-key-wrong-schema -> op-nvidia-runtime-handler-missing": (
        (make_answer("containerd.tables", OLD_TABLE), read_case("containerd.runtime", "prepared-debian-12")), (),
    ),
    "op-containerd-imports-overwritten -> containerd-cgroup-driver": (
        (), (change("containerd.configuration", "SystemdCgroup", "NoPivotRoot"),),
    ),
    "gpu-leftover-driver-packages -> gpu-driver-library-mismatch": (
        (
            read_case("gpu.driver", "mismatch"),
            read_case("gpu.packages", "two-branches", ("470.256.02", "595.71.05"), ("550.90.07", "595.91.07")),
        ),
        (read_case("gpu.driver", "mismatch"), read_case("gpu.packages", "two-branches")),
    ),
    "host-no-egress -> st-image-pull-fails": (
        (read_case("pods.starting", "time-out", ('"k2"', '"k1"')),),
        (read_case("pods.starting", "failing", ('"k2"', '"k1"')),),
    ),
    "host-inotify-exhausted -> kube-proxy-down": (
        (read_case("kube-proxy.last-error", "inotify"),), (read_case("kube-proxy.last-error", "conntrack"),),
    ),
    "host-iptables-legacy-nft-mix -> st-service-ip-broken": ((change("kube-proxy.host", *BOTH_BACKENDS),), ()),
    "host-iptables-legacy-nft-mix -> st-dns-broken": ((change("kube-proxy.host", *BOTH_BACKENDS),), ()),
    "host-networkmanager-owns-cni -> st-pod-net-broken": ((read_case("network.bridge", "none"),), ()),
    "host-networkmanager-owns-cni -> st-api-from-pods-timeout": ((read_case("network.bridge", "none"),), ()),
    "host-networkmanager-owns-cni -> st-dns-broken": ((read_case("network.bridge", "none"),), ()),
    "host-duplicate-identity -> st-pod-net-broken": (
        (change("flannel.annotations", "de:95:aa:8d:15:4d", "4e:75:ed:3a:e1:8a", CLUSTER),), (),
    ),
    "cidr-overlaps-host-network -> st-pod-net-broken": (
        (read_case("network.routes", "second-link", ("10.244.0.0/24", "10.128.1.0/25")),),
        (read_case("network.routes", "second-link"),),
    ),
    "host-resolv-stub-loop -> st-dns-broken": ((make_resolver(1),), (make_resolver(0),)),
    "control-plane-taint-single-node -> st-pods-pending": (
        (read_case("kube.unscheduled-pods", "tainted"),), (read_case("kube.unscheduled-pods", "memory"),),
    ),
    "control-plane-taint-single-node -> st-gpu-pods-pending": (
        (read_case("kube.unscheduled-pods", "of-a-user", ("2 Insufficient nvidia.com/gpu", EXCLUSION)),),
        (read_case("kube.unscheduled-pods", "tainted"),),
    ),
    "gpu-host-driver-conflict -> st-driver-not-ready": (
        (make_driver_pod(ready=False),), (make_driver_pod(ready=True),),
    ),
    "op-mig-mixed-nvml-regression -> st-gpu-pods-pending": (
        (read_case("kube.unscheduled-pods", "of-a-user"),), (read_case("kube.unscheduled-pods", "tainted"),),
    ),
    "op-crd-stale -> mon-servicemonitor-disabled": ((read_case("gpu.policy-settings", "pruned"),), ()),
    "etcd-slow-disk -> st-apiserver-down": (
        (read_case("kube.readyz", "not-ready"),), (read_case("kube.readyz", "refused"),),
    ),
    "host-too-small -> insufficient-resources": (
        (read_case("kube.unscheduled-pods", "memory"),), (read_case("kube.unscheduled-pods", "platform-gpu"),),
    ),
}  # fmt: skip
IDS = [id for id, check in BY_ID.items() if check.function.__module__.startswith("gpustack.doctor.checks.evidence")]


def judge_edge(id: str, answers: tuple[Answer, ...]) -> str:
    healthy = build_healthy()
    places = {answer.probe: CLUSTER if (answer.probe, CLUSTER) in healthy.answers else "k1" for answer in answers}
    changed_answers = {(answer.probe, places[answer.probe]): answer for answer in answers}
    (location,) = {"k1", CLUSTER} & set(list_locations(id))
    return evaluate(id, replace(healthy, answers={**healthy.answers, **changed_answers}), location).outcome


def list_locations(id: str) -> tuple[str, ...]:
    return find_locations(load_graph(), id, build_healthy())


@pytest.mark.parametrize("id", IDS)
def test_evidence_confirms_an_edge_and_another_cause_refutes_it(id: str) -> None:
    confirming, refuting = EVIDENCE[id]
    assert (judge_edge(id, confirming), judge_edge(id, refuting)) == ("failed", "ok")


def test_a_containerd_that_does_not_respond_refutes_no_ignored_runtime() -> None:
    id = "containerd-config-key-wrong-schema -> op-nvidia-runtime-handler-missing"
    assert judge_edge(id, (make_answer("containerd.runtime", "", 1),)) == "unknown"

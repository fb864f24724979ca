"""A kubelet whose runtime or DNS server is not what the rest of the cluster has."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.script_file import read_script
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.state import AbnormalState
from gpustack.probes.kubelet import settings
from tests.unit.doctor.states.objects import build_healthy, find_item, list_states, read_items
from tests.worlds.snapshots.answers import read_case

# KubeletConfiguration as kubeadm writes it, with a comment and with both forms of a list.
FILE = """apiVersion: kubelet.config.k8s.io/v1beta1
clusterDNS:
- 10.96.0.10
- "10.96.0.11"
clusterDomain: cluster.local
containerRuntimeEndpoint: "unix:///var/run/crio/crio.sock"   # ours
"""


def list_case_states(*edits: tuple[str, str]) -> list[AbnormalState]:
    healthy = build_healthy()
    answer = read_case("kubelet.settings", "usual", *edits)
    domains = replace(read_case("resolver.domains", "usual"), location=CLUSTER)
    answers = {("kubelet.settings", "k2"): answer, ("resolver.domains", CLUSTER): domains}
    diagnosis = diagnose(replace(healthy, answers={**healthy.answers, **answers}))
    return [state for state in list_states(diagnosis, "settings-contradict") if "kubelet" in state.subjects[0]]


@pytest.mark.parametrize(
    "socket", ["unix:///run/containerd/containerd.sock", "unix:///var/run/containerd/containerd.sock"]
)
def test_settings_that_agree_are_no_state(socket: str) -> None:
    assert list_case_states(("unix:///run/containerd/containerd.sock", socket)) == []


def test_another_runtime_is_a_risk_with_its_socket() -> None:
    socket = "unix:///run/k3s/containerd/containerd.sock"
    (state,) = list_case_states(("unix:///run/containerd/containerd.sock", socket))
    assert (state.severity, state.locations) == ("risk", ("k2",))
    assert state.message.startswith(f"it uses the runtime at {socket};")


def test_a_dns_server_of_no_service_is_broken() -> None:
    (state,) = list_case_states(("10.96.0.10", "10.96.0.99"))
    assert (state.severity, state.subjects) == ("broken", ("kubelet of k2",))
    assert "10.96.0.99, which no Service has; those of DNS: kube-dns 10.96.0.10" in state.message


def list_name_states(name: str, *, ready: bool) -> list[AbnormalState]:
    """Diagnose k2, whose kubelet runs as `name` with the certificate of the node k2: the lines of the probe from a lab
    host that was renamed to gpu-node-02 (heptio/aws-quickstart#239)."""
    healthy = build_healthy()
    answer = read_case("kubelet.settings", "renamed", ("gpu-node-02", name), ("node host2", "node k2"))
    nodes = healthy.answers["kube.nodes", CLUSTER]
    if not ready:
        items = read_items("kube.nodes")
        for condition in find_item(items, "k2")["status"]["conditions"]:
            condition["status"] = "Unknown" if condition["type"] == "Ready" else condition["status"]
        nodes = replace(nodes, stdout=json.dumps({"items": items}))
    answers = {("kubelet.settings", "k2"): answer, ("kube.nodes", CLUSTER): nodes}
    diagnosis = diagnose(replace(healthy, answers={**healthy.answers, **answers}))
    return [state for state in list_states(diagnosis, "settings-contradict") if "kubelet" in state.subjects[0]]


def test_a_kubelet_of_a_renamed_host_is_broken_with_both_names() -> None:
    (state,) = list_name_states("gpu-node-02", ready=False)
    assert (state.severity, state.locations) == ("broken", ("k2",))
    assert "is gpu-node-02, and its certificate is that of the node k2" in state.message


def test_a_name_that_a_kubelet_has_not_read_yet_is_a_risk() -> None:
    (state,) = list_name_states("gpu-node-02", ready=True)
    assert state.severity == "risk"


def test_a_kubelet_with_the_name_of_its_node_is_no_state() -> None:
    assert list_name_states("k2", ready=False) == []


def test_a_domain_that_coredns_does_not_know_is_broken() -> None:
    (state,) = list_case_states(("cluster.local", "lab.internal"))
    assert (state.severity, state.subjects) == ("broken", ("kubelet of k2",))
    assert "the domain lab.internal (clusterDomain), and CoreDNS knows Services in cluster.local:" in state.message


@pytest.mark.parametrize("domain", ["cluster.local", "cluster.local."])
def test_a_domain_that_coredns_knows_is_no_state(domain: str) -> None:
    assert list_case_states(("domain cluster.local", f"domain {domain}")) == []


def test_a_dns_cache_of_the_node_is_no_state() -> None:
    assert list_case_states(("10.96.0.10", "169.254.20.10")) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            FILE,
            ["socket unix:///var/run/crio/crio.sock", "server 10.96.0.10", "server 10.96.0.11", "domain cluster.local"],
        ),
        ("clusterDNS: [10.96.0.12]\n", ["server 10.96.0.12"]),
        ("cgroupDriver: systemd\n", []),
    ],
    ids=["block", "flow", "none"],
)
def test_the_file_of_the_kubelet_is_read(tmp_path: Path, text: str, lines: list[str]) -> None:
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "systemctl").write_text("#!/bin/sh\necho 0\n")
    (tmp_path / "systemctl").chmod(0o755)
    script = read_script(settings.__file__, "settings.sh").replace("/var/lib/kubelet", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=environment, check=True)
    assert process.stdout.splitlines() == lines

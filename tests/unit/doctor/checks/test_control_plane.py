"""Static pods of a control plane, and etcd below them."""

import json

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case


def test_expired_certificates_fail() -> None:
    assert judge_cluster("controlplane-certs-expired", {})[0] == "ok"
    assert judge_cluster("controlplane-certs-expired", {}, "k2") == ("ok", "none on this host")
    certificates = read_case("kubeadm.certificates", "control-plane")
    expired_certificates = place_answers(
        "k1", make_answer("kubeadm.certificates", certificates.stdout.replace(" 2027 GMT", " 2025 GMT"))
    )
    assert judge_cluster("controlplane-certs-expired", expired_certificates)[0] == "failed"
    assert judge_cluster("host-time-skew -> controlplane-certs-expired", expired_certificates)[0] == "ok"
    assert judge_cluster("host-time-skew -> controlplane-certs-expired", {})[0] == "failed"


LINKS = make_answer("network.addresses", "1: lo inet 127.0.0.1/8\n2: host0 inet 10.77.2.11/24\n")


def test_a_changed_node_address_fails() -> None:
    mine = {("network.addresses", "k1"): LINKS}
    assert judge_cluster("node-ip-changed", mine)[0] == "ok"
    assert judge_cluster("node-ip-changed -> st-service-ip-broken", mine)[0] == "ok"
    moved_manifests = read_case("kubeadm.manifest-addresses", "control-plane", ("10.77.2.11", "10.77.2.99"))
    lost_address = mine | {("kubeadm.manifest-addresses", "k1"): moved_manifests}
    assert judge_cluster("node-ip-changed", lost_address) == ("failed", "10.77.2.99 not assigned")
    assert judge_cluster("node-ip-changed -> st-service-ip-broken", lost_address)[0] == "failed"
    translated_address = read_case(
        "kubeadm.manifest-addresses", "control-plane", ("advertise-address=10.77.2.11", "advertise-address=1.2.3.4")
    )
    assert (
        judge_cluster("node-ip-changed", mine | {("kubeadm.manifest-addresses", "k1"): translated_address})[0] == "ok"
    )
    assert (
        judge_cluster("node-ip-changed", place_answers("k1", make_answer("kubeadm.manifest-addresses", "x\n")))[0]
        == "unknown"
    )


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("", "ok"),
        ("running\n", "ok"),
        ("running\nproxy\n", "failed"),
        ("running\nproxy\npast localhost,10.0.0.0/8\n", "failed"),
        ("running\nproxy\npast localhost,10.0.0.0/8,.svc,.cluster.local\n", "ok"),
        ("proxy\n", "unknown"),
    ],
)
def test_cluster_ranges_missing_from_no_proxy_fail(output: str, outcome: str) -> None:
    answers = place_answers("k1", make_answer("kubeadm.api-proxy", output))
    assert judge_cluster("no-proxy-missing-cluster-cidrs", answers)[0] == outcome


RUN = "etcd runs\nkube-controller-manager runs\nkube-scheduler runs\n"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("end\n", "ok"),
        (f"{RUN}kube-apiserver runs\nend\n", "ok"),
        (f"{RUN}kube-apiserver silent\nend\n", "unknown"),
        (f"{RUN}kube-apiserver said Error: unknown flag: --no-such-flag\nend\n", "failed"),
        (f"{RUN}kube-apiserver runs\n", "unknown"),
        (f"{RUN}kube-apiserver said \nend\n", "unknown"),
        ("kubelet runs\nend\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_refused_settings_fail(output: str, outcome: str) -> None:
    assert (
        judge_cluster("control-plane-settings-refused", place_answers("k1", make_answer("kubeadm.last-log", output)))[0]
        == outcome
    )


def build_pods(
    *times: tuple[int, int], name: str = "kube-apiserver", running: bool = False, api: int | None = None
) -> dict[tuple[str, str], Answer]:
    current_time = 1795237200
    containers = [
        f"name {name}\nattempt {attempt}\nstate CONTAINER_{'RUNNING' if runs else 'EXITED'}\n"
        f"createdAt {current_time - age}000000000\n"
        for name, attempt, age, runs in [
            *((name, attempt, age, running and (attempt, age) == times[-1]) for attempt, age in times),
            *([("kube-apiserver", 0, api, True)] if api is not None else []),
        ]
    ]
    return place_answers("k1", make_answer("kubeadm.static-pods", f"{current_time}\n{''.join(containers)}"))


@pytest.mark.parametrize(
    ("times", "outcome"),
    [
        (((0, 9000),), "ok"),
        (((0, 9000), (1, 60)), "ok"),
        (((3, 200), (4, 60)), "failed"),
        (((3, 20000), (4, 60)), "ok"),
        (((3, 9000), (4, 8800)), "ok"),
    ],
)
def test_restarting_components_confirm_flapping(times: tuple[tuple[int, int], ...], outcome: str) -> None:
    """A single restart is no flapping, nor are those of long ago."""
    assert judge_cluster("st-controlplane-flapping", build_pods(*times), CLUSTER)[0] == outcome


def test_what_outlived_the_start_before_has_settled() -> None:
    assert (
        judge_cluster("st-controlplane-flapping", build_pods((3, 300), (4, 90), running=True), CLUSTER)[0] == "failed"
    )
    assert judge_cluster("st-controlplane-flapping", build_pods((3, 270), (4, 181), running=True), CLUSTER)[0] == "ok"


@pytest.mark.parametrize(("api", "outcome"), [(100, "ok"), (9000, "failed"), (None, "failed")])
def test_what_came_back_with_the_api_server_does_not_go_round(api: int | None, outcome: str) -> None:
    answers = build_pods((2, 300), (3, 90), name="kube-scheduler", running=True, api=api)
    assert judge_cluster("st-controlplane-flapping", answers, CLUSTER)[0] == outcome


def test_a_full_etcd_fails() -> None:
    assert judge_cluster("etcd-nospace", {}, CLUSTER) == ("ok", "none")
    full = place_answers("k1", make_answer("etcd.health", '{"health":"false","reason":"ALARM NOSPACE"}\n'))
    assert judge_cluster("etcd-nospace", full, CLUSTER) == ("failed", "ALARM NOSPACE")
    assert judge_cluster("etcd-nospace", place_answers("k1", make_answer("etcd.health", "")), CLUSTER)[0] == "ok"
    assert (
        judge_cluster("etcd-nospace", place_answers("k1", make_answer("etcd.health", "{}\n")), CLUSTER)[0] == "unknown"
    )


@pytest.mark.parametrize(
    ("output", "slow", "guard"),
    [
        ("0 0 80", "ok", "failed"),
        ("3 0 80", "ok", "failed"),
        ("40 0 80", "failed", "failed"),
        ("40 2 80", "failed", "ok"),
        ("40 0 2", "failed", "ok"),
        ("40", "unknown", "unknown"),
    ],
)
def test_slow_writes_fail(output: str, slow: str, guard: str) -> None:
    answers = place_answers("k1", make_answer("etcd.slow-requests", f"{output}\n"))
    assert judge_cluster("etcd-slow-disk", answers)[0] == slow
    assert judge_cluster("etcd-slow-disk guard", answers)[0] == guard


@pytest.mark.parametrize(
    ("renewal", "outcome"),
    [("2026-11-21T04:59:58.1Z", "ok"), ("2026-11-21T04:50:00Z", "failed"), (None, "unknown")],
)
def test_an_api_that_takes_no_writes_fails(renewal: str | None, outcome: str) -> None:
    items = [{"metadata": {"name": "kube-scheduler"}, "spec": {"renewTime": renewal}}] if renewal else []
    answers = place_answers(CLUSTER, make_answer("kube.leases", json.dumps({"items": items})))
    assert judge_cluster("st-apiserver-readonly", answers, CLUSTER)[0] == outcome


@pytest.mark.parametrize(
    ("servers", "outcome", "actual"),
    [
        ("https://127.0.0.1:2379", "ok", "accepted"),
        ("https://localhost:2379", "ok", "accepted"),
        ("https://10.9.9.9:2379,https://10.77.0.11:2379", "ok", "accepted"),
        ("https://127.0.0.1:2390", "failed", "127.0.0.1:2390"),
        ("https://10.9.9.9:2379", "failed", "10.9.9.9:2379"),
    ],
)
def test_an_api_server_without_an_etcd_fails(servers: str, outcome: str, actual: str) -> None:
    manifest = read_case(
        "kubeadm.manifest-addresses", "with-etcd", ("etcd-servers=https://127.0.0.1:2379", f"etcd-servers={servers}")
    )
    words = make_answer("kubeadm.last-log", "etcd runs\nkube-apiserver runs\nend\n")
    answers = {("kubeadm.manifest-addresses", "k1"): manifest, ("kubeadm.last-log", "k1"): words}
    assert judge_cluster("control-plane-settings-refused", answers) == (outcome, actual)


def test_an_etcd_of_somebody_elses_is_not_looked_for_here() -> None:
    pods = make_answer(
        "kubeadm.manifest-addresses", "--advertise-address=10.77.0.11\n--etcd-servers=https://10.9.9.9:2379\n"
    )
    words = make_answer("kubeadm.last-log", "kube-apiserver silent\nend\n")
    answers = {("kubeadm.manifest-addresses", "k1"): pods, ("kubeadm.last-log", "k1"): words}
    assert judge_cluster("control-plane-settings-refused", answers)[0] == "unknown"


def test_without_the_kubelet_nobody_starts_a_static_pod_again() -> None:
    id = "st-kubelet-down -> st-apiserver-down"
    files = place_answers("k1", read_case("kubeadm.files", "control-plane"))
    pods = read_case("kubeadm.static-pods", "control-plane")
    exited_pods = make_answer("kubeadm.static-pods", pods.stdout.replace("CONTAINER_RUNNING", "CONTAINER_EXITED"))
    assert judge_cluster(id, files | {("kubeadm.static-pods", "k1"): pods}) == ("ok", "running")
    assert judge_cluster(id, files | {("kubeadm.static-pods", "k1"): exited_pods}) == ("failed", "stopped")
    worker = {("kubeadm.files", "k1"): read_case("kubeadm.files", "worker"), ("kubeadm.static-pods", "k1"): pods}
    assert judge_cluster(id, worker) == ("ok", "none")

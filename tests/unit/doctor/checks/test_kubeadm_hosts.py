"""Remains, addresses and versions of one host beside its cluster."""

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

QUIET = make_answer("network.listeners", "")
OTHER_AUTHORITY = "e" * 64


def build_files(host: str, *paths: str) -> dict[tuple[str, str], Answer]:
    stdout = "".join(f"600 /etc/kubernetes/{path}\n" for path in paths)
    return {("kubeadm.files", host): make_answer("kubeadm.files", stdout), ("network.listeners", host): QUIET}


def build_start(host: str, configuration: str) -> dict[tuple[str, str], Answer]:
    return place_answers(host, read_case("kubelet.start", "control-plane", ("config\nyes", f"config\n{configuration}")))


def test_an_interrupted_attempt_fails() -> None:
    assert judge_cluster("kubeadm-stale-state", {})[0] == "ok"
    half = build_files("k1", "admin.conf", "pki/ca.key", "manifests/etcd.yaml") | build_start("k1", "no")
    assert judge_cluster("kubeadm-stale-state", half)[0] == "failed"
    own_files = build_files("k1", "admin.conf", "gpustack-kubeadm.yaml.unfinished")
    assert judge_cluster("kubeadm-stale-state", own_files) == ("failed", "an interrupted initialisation")
    serving = place_answers(
        "k1", make_answer("network.listeners", 'tcp LISTEN 0 1 *:6443 *:* users:(("x",pid=1,fd=3))\n')
    )
    assert judge_cluster("kubeadm-stale-state", half | serving)[0] == "ok"
    assert judge_cluster("kubeadm-stale-state", own_files | serving) == ("failed", "an interrupted initialisation")
    assert judge_cluster("kubeadm-stale-state", build_files("k1") | build_start("k1", "no"))[0] == "ok"
    worker = build_files("k2", "bootstrap-kubelet.conf", "pki/ca.crt") | build_start("k2", "yes")
    assert judge_cluster("kubeadm-stale-state", worker, "k2") == ("failed", "an interrupted join")


def test_a_worker_of_another_cluster_fails() -> None:
    authorities = read_case("kubeadm.authorities", "worker")
    mine = build_start("k2", "yes") | {("kubeadm.authorities", "k2"): authorities}
    assert judge_cluster("kubeadm-stale-state", mine, "k2")[0] == "ok"
    own_parts = authorities.stdout.split()[1]
    foreign = place_answers(
        "k2", make_answer("kubeadm.authorities", authorities.stdout.replace(own_parts, OTHER_AUTHORITY))
    )
    assert judge_cluster("kubeadm-stale-state", mine | foreign, "k2") == ("failed", "the CA of another cluster")
    order = place_answers("k2", make_answer("kubeadm.authorities", f"{authorities.stdout}join {OTHER_AUTHORITY}\n"))
    assert judge_cluster("join-ca-hash-mismatch", order, "k2")[0] == "failed"
    right = place_answers("k2", make_answer("kubeadm.authorities", f"{authorities.stdout}join {own_parts}\n"))
    assert judge_cluster("join-ca-hash-mismatch", right, "k2")[0] == "ok"
    assert judge_cluster("join-ca-hash-mismatch", mine, "k2") == ("ok", "no join")


def test_a_missing_or_stale_kubeconfig_of_root_fails() -> None:
    assert judge_cluster("kubeconfig-missing-or-stale", {})[0] == "ok"
    authorities = read_case("kubeadm.authorities", "control-plane").stdout
    own_parts = authorities.split()[1]
    for root, outcome in (
        ("root -", "failed"),
        (f"root {OTHER_AUTHORITY}", "failed"),
        (f"root {OTHER_AUTHORITY}\nroot {own_parts}", "ok"),
    ):
        answers = place_answers("k1", make_answer("kubeadm.authorities", f"own {own_parts}\n{root}\n"))
        assert judge_cluster("kubeconfig-missing-or-stale", answers)[0] == outcome
    other_file = place_answers("k1", make_answer("kubeadm.authorities", f"own {own_parts}\n"))
    assert judge_cluster("kubeconfig-missing-or-stale", other_file) == (
        "unknown",
        "the CA of the kubeconfig is in another file",
    )
    half = place_answers("k1", make_answer("kubeadm.authorities", f"own {own_parts}\nroot -\n"))
    mark = build_files("k1", "admin.conf", "gpustack-kubeadm.yaml.unfinished")
    assert judge_cluster("kubeconfig-missing-or-stale", half | mark) == ("ok", "copied when kubeadm has finished")
    odd = place_answers("k1", make_answer("kubeadm.authorities", "own\n"))
    assert judge_cluster("kubeconfig-missing-or-stale", odd)[0] == "unknown"


def test_an_address_of_two_nodes_fails() -> None:
    assert judge_cluster("kubelet-wrong-node-ip", {}) == ("ok", "10.78.0.11")
    same_address = read_case("kube.nodes", "control-plane", ("10.78.0.12", "10.78.0.11"))
    assert judge_cluster("kubelet-wrong-node-ip", {("kube.nodes", CLUSTER): same_address}) == (
        "failed",
        "10.78.0.11, as on k2",
    )


def build_versions(kubelet: str, kubeadm: str) -> dict[tuple[str, str], Answer]:
    packages = read_case("packages.installed", "prepared-debian-12")
    lines = [line for line in packages.stdout.splitlines() if not line.startswith(("kubelet ", "kubeadm "))]
    lines += [f"kubelet hold installed {kubelet}-1.1", f"kubeadm hold installed {kubeadm}-1.1"]
    return {
        ("packages.installed", "k1"): Answer(
            "packages.installed", "", packages.rc, "\n".join(lines) + "\n", packages.stderr
        )
    }


def test_versions_that_do_not_fit_fail() -> None:
    for kubelet, kubeadm, outcome in (
        ("1.36.4", "1.36.4", "ok"), ("1.35.1", "1.37.0", "ok"), ("1.37.0", "1.36.4", "failed"),
        ("1.32.0", "1.36.4", "failed"), ("1.36.4", "1.38.0", "failed"),
    ):  # fmt: skip
        assert judge_cluster("api-version-skew", build_versions(kubelet, kubeadm))[0] == outcome, (kubelet, kubeadm)
    assert (
        judge_cluster("api-version-skew", build_versions("1.37.0", "1.36.4"))[1]
        == "kubelet 1.37.0 with the API at 1.36.4"
    )

from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.steps.control_plane.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import ABSENT, K1, STOPPED_UNIT, build_units, judge
from tests.worlds.snapshots.judge import list_failures

FILES, CERTIFICATES, LISTENING = "kubeadm.files", "kubeadm.certificates", "kubeadm.listeners"
UNFINISHED_FILE = "600 /etc/kubernetes/gpustack-kubeadm.yaml.unfinished\n"
ADMIN = "600 /etc/kubernetes/admin.conf\n"


def build_files(*edits: tuple[str, str]) -> dict[tuple[str, str], Answer]:
    return place_answers("k1", read_case(FILES, "control-plane", *edits))


def test_nothing_there_is_initialised_by_install() -> None:
    assert list_failures(judge(STEP, place_answers("k1", read_case(FILES, "fresh"))))["cluster-initialised"] == (
        "nothing",
        "install",
    )


def test_a_broken_off_initialisation_is_taken_up_again() -> None:
    failures = list_failures(judge(STEP, place_answers("k1", read_case(FILES, "broken-off-init"))))
    assert failures["cluster-initialised"] == ("an interrupted initialisation", "install")


def test_while_broken_off_nothing_asks_for_a_person() -> None:
    answers = {
        (FILES, "k1"): read_case(FILES, "broken-off-init"),
        ("kube.readyz", CLUSTER): read_case("kube.readyz", "broken-off-init"),
        ("kube.deployments", CLUSTER): make_answer("kube.deployments", '{"items":[]}'),
        ("kubeadm.settings", CLUSTER): make_answer("kubeadm.settings", '{"items":[]}'),
        (LISTENING, "k1"): make_answer(LISTENING, ""),
    }
    failures = list_failures(judge(STEP, answers))
    assert {"cluster-initialised", "api", "dns", "endpoint", "networks", "metrics", "kubelet-settings"} <= set(failures)
    assert {cure for _, cure in failures.values()} == {"install"}


@pytest.mark.parametrize(
    "file", ["600 /etc/kubernetes/manifests/etcd.yaml\n", ADMIN, "600 /etc/kubernetes/pki/ca.key\n"]
)
def test_half_a_control_plane_is_never_reset(file: str) -> None:
    actual, cure = list_failures(judge(STEP, build_files((file, ""))))["cluster-initialised"]
    assert cure == "operator"
    assert file.split()[1] in actual


@pytest.mark.parametrize(("name", "phase"), [("etcd", "etcd local"), ("kube-apiserver", "control-plane apiserver")])
def test_a_component_that_was_stopped_is_no_cluster_to_reset(name: str, phase: str) -> None:
    files = build_files((f"600 /etc/kubernetes/manifests/{name}.yaml\n", ""))
    result = judge(STEP, files)["cluster-initialised"].result
    assert result
    assert result.fault == "control-plane-manifest-missing"
    assert f"kubeadm init phase {phase} " in result.hint
    assert "reset" not in result.hint


def test_a_worker_of_another_cluster_is_not_made_a_control_plane() -> None:
    assert (
        list_failures(judge(STEP, place_answers("k1", read_case(FILES, "worker"))))["cluster-initialised"][1]
        == "operator"
    )


def test_a_stopped_kubelet_is_started_and_the_silent_api_is_no_separate_matter() -> None:
    answers = {
        ("units.services", "k1"): build_units(STOPPED_UNIT),
        ("kube.readyz", CLUSTER): read_case("kube.readyz", "refused"),
    }
    failures = list_failures(judge(STEP, answers))
    assert failures["kubelet"] == ("not active", "install")
    assert failures["api"][1] == "install"


def test_a_missing_kubelet_is_for_install() -> None:
    assert list_failures(judge(STEP, {("units.services", "k1"): build_units(ABSENT)}))["kubelet"] == (
        "not installed",
        "install",
    )


def test_an_api_that_does_not_answer_beside_a_kubelet_that_runs_is_for_a_person() -> None:
    answers = place_answers(CLUSTER, read_case("kube.readyz", "refused"), read_case("kube.nodes", "refused"))
    judgements = judge(STEP, answers)
    mismatch = judgements["api"].result
    assert mismatch
    assert mismatch.cure == "operator"
    assert "refused" in mismatch.actual
    assert "crictl" in mismatch.hint
    assert judgements["node"].outcome == "unknown"


def test_another_version_is_for_upgrade() -> None:
    failures = list_failures(judge(STEP, spec={"kubernetes": {"version": "1.36.3"}}))
    assert failures == {"version": ("1.36.4", "upgrade")}


def test_the_host_is_the_node_with_its_machine_id_not_with_its_name() -> None:
    answers = place_answers("k1", make_answer("system.identity", "f" * 32 + "\n\n"))
    assert list_failures(judge(STEP, answers)) == {"node": ("none", "operator")}


def test_dns_must_be_deployed() -> None:
    answers = place_answers(CLUSTER, make_answer("kube.deployments", '{"items":[]}'))
    assert list_failures(judge(STEP, answers)) == {"dns": ("nothing", "operator")}


def test_certificates_that_end_soon_are_for_the_operator() -> None:
    answers = place_answers(
        "k1", read_case(CERTIFICATES, "control-plane", ("Nov 21 04:38:10 2027", "Dec  3 04:38:10 2026"))
    )
    actual, cure = list_failures(judge(STEP, answers))["certificates"]
    assert cure == "operator"
    assert "kube-apiserver until 2026-12-03" in actual
    assert "etcd-ca" not in actual


def test_admin_conf_is_for_root_alone() -> None:
    assert list_failures(judge(STEP, build_files((ADMIN, "644 /etc/kubernetes/admin.conf\n")))) == {
        "credentials": ("mode 644", "install")
    }


def test_root_has_a_kubeconfig() -> None:
    assert list_failures(judge(STEP, build_files(("600 /root/.kube/config\n", "")))) == {
        "credentials": ("nothing", "install")
    }


@pytest.mark.parametrize(
    ("check", "spec"),
    [
        ("endpoint", {"kubernetes": {"version": "1.36.4", "endpoint": "kube.example.org:6443"}}),
        ("networks", {"kubernetes": {"version": "1.36.4", "pod_cidr": "10.32.0.0/16"}}),
        ("networks", {"kubernetes": {"version": "1.36.4", "service_cidr": "10.112.0.0/16"}}),
        ("networks", {"kubernetes": {"version": "1.36.4", "dns_domain": "other.local"}}),
        ("certificate-names", {"kubernetes": {"version": "1.36.4", "cert_sans": ["kube.example.org"]}}),
        ("metrics", {"kubernetes": {"version": "1.36.4", "metrics_bind": "127.0.0.1"}}),
        ("kubelet-settings", {"kubelet": {"failCgroupV1": True}}),
        ("kubelet-settings", {"swap": "off"}),
        ("proxy-settings", {"kube_proxy": {"mode": "nftables", "conntrack": {"max_per_core": 0, "min": 0}}}),
        ("proxy-settings", {"kube_proxy": {}}),
    ],
)
def test_what_was_settled_at_birth_is_compared_and_left_to_a_person(check: str, spec: dict[str, Any]) -> None:
    judgements = judge(STEP, spec=spec)
    assert {name for name, judgement in judgements.items() if judgement.result} == {check}
    mismatch = judgements[check].result
    assert mismatch
    assert mismatch.cure == "operator"
    assert mismatch.hint


def test_a_token_that_a_broken_off_join_left_is_removed() -> None:
    answers = place_answers(CLUSTER, read_case("kubeadm.join-token", "token"))
    (failure,) = list_failures(judge(STEP, answers)).items()
    assert failure == ("join-token", ("one left by an interrupted join", "install"))


def test_a_component_that_listens_nowhere_may_not_run_yet() -> None:
    """An installation that was broken off just after kubeadm init: kube-proxy's pod is not there yet."""
    answers = place_answers("k1", read_case(LISTENING, "control-plane", ("LISTEN 0      4096   *:10259 *:*\n", "")))
    assert list_failures(judge(STEP, answers)) == {"metrics": ("kube-scheduler none", "install")}
    mismatch = judge(STEP, answers)["metrics"].result
    assert mismatch
    assert mismatch.passing


def test_a_component_that_listens_elsewhere_is_for_a_person_whoever_else_is_missing() -> None:
    answers = place_answers("k1", read_case(LISTENING, "debian-13", ("127.0.0.1:10259", "127.0.0.1:10299")))
    (failure,) = list_failures(judge(STEP, answers)).values()
    assert "kube-scheduler none" in failure[0]
    assert failure[1] == "operator"


def test_metrics_listen_on_the_loopback_only_when_asked_so() -> None:
    loopback = place_answers("k1", read_case(LISTENING, "debian-13"))
    assert set(list_failures(judge(STEP, loopback))) == {"metrics"}
    assert not list_failures(judge(STEP, loopback, {"kubernetes": {"version": "1.36.4", "metrics_bind": "127.0.0.1"}}))


def test_settings_of_a_host_count_for_its_own_cluster() -> None:
    """The other recorded cluster: Debian 13, nftables, names in the certificate, loopback, an endpoint by name."""
    from dataclasses import replace
    from ipaddress import IPv4Address

    from gpustack.config.host import HostSpec

    spec = {
        "kubernetes": {
            "version": "1.36.4", "metrics_bind": "127.0.0.1", "cert_sans": ["kube.example.org", "203.0.113.9"],
            "endpoint": "k4:6443", "dns_domain": "lab.local",
            "pod_cidr": "10.32.0.0/16", "service_cidr": "10.112.0.0/16",
        },
        "kube_proxy": {"mode": "nftables", "conntrack": {"max_per_core": 0, "min": 0}},
        "swap": "off",
    }  # fmt: skip
    cluster = ("kube.nodes", "kube.deployments", "kubeadm.settings")
    answers = {(probe, CLUSTER): read_case(probe, "debian-13") for probe in cluster}
    answers |= {(probe, "k1"): read_case(probe, "debian-13") for probe in (FILES, CERTIFICATES, LISTENING)}
    answers["system.identity", "k1"] = make_answer("system.identity", "004cb8e4e83e464aa0dbda7ee7552aaa\n\n")
    host = replace(K1, spec=HostSpec(gpustack_node_ip=IPv4Address("10.78.0.14")))
    assert list_failures(judge(STEP, answers, spec, (host,))) == {}
    moved_host = replace(K1, spec=HostSpec(gpustack_node_ip=IPv4Address("10.99.0.1")))
    assert list_failures(judge(STEP, answers, spec, (moved_host,))) == {"address": ("10.78.0.14", "operator")}

"""A snapshot becomes a diagnosis: the checks of steps are findings too, and nothing unknown passes for well."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.doctor.diagnose import diagnose, list_probes
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from tests.worlds.snapshots import cluster, hosts
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.cluster import K1

FORWARDING_OFF = read_case("kernel.sysctls", "prepared-debian-12", ("net.ipv4.ip_forward 1", "net.ipv4.ip_forward 0"))


def list_roots(diagnosis: Diagnosis) -> dict[str, tuple[str, ...]]:
    return {root.id: root.locations for root in diagnosis.roots}


def drop_host(snapshot: Snapshot, host: str) -> Snapshot:
    answers = {key: answer for key, answer in snapshot.answers.items() if key[1] != host}
    reach = {**snapshot.reach, host: Reach(host, "host-ssh-unreachable", "timeout")}
    return replace(snapshot, answers=answers, reach=reach)


def test_the_questions_are_those_of_steps_and_checks_each_once() -> None:
    ids = [probe.id for probe in list_probes()]
    assert len(ids) == len(set(ids))
    assert {"kernel.sysctls", "service-monitors.selectors"} <= set(ids)


def test_prepared_hosts_have_no_root() -> None:
    diagnosis = diagnose(hosts.build_snapshot())
    assert (list_roots(diagnosis), diagnosis.unexplained_symptoms) == ({}, ())


def test_a_fault_is_named_with_its_evidence_and_no_step_says_it_again() -> None:
    diagnosis = diagnose(hosts.build_snapshot({("kernel.sysctls", "h1"): FORWARDING_OFF}))
    assert list_roots(diagnosis) == {"host-ip-forward-off": ("h1",)}
    (judgement,) = diagnosis.roots[0].judgements
    assert [evidence.answer.probe for evidence in judgement.evidence] == ["kernel.sysctls"]
    assert [drift for drift in diagnosis.drift if "h1" in drift.locations and drift.step == "prereqs"] == []
    assert diagnosis.exit_status == 1


def test_a_check_of_a_step_confirms_and_refutes_the_fault_it_names() -> None:
    swapping = read_case("kernel.swap", "ubuntu-swapfile")
    diagnosis = diagnose(hosts.build_snapshot({("kernel.swap", "h1"): swapping}))
    assert list_roots(diagnosis) == {"host-swap-on": ("h1",)}
    assert diagnosis.judgements["host-swap-on", "h2"].outcome == "ok"
    unread = Answer("kernel.swap", "h1", -1, "", missing_reason="it hung")
    assert (
        diagnose(hosts.build_snapshot({("kernel.swap", "h1"): unread})).judgements["host-swap-on", "h1"].reason
        == "it hung"
    )


def test_a_check_that_found_something_else_first_tells_nothing() -> None:
    silent = Answer("containerd.runtime", "h1", 1, "")
    diagnosis = diagnose(hosts.build_snapshot({("containerd.runtime", "h1"): silent}))
    assert diagnosis.judgements["containerd-cgroup-driver", "h1"].outcome == "unknown"
    assert list_roots(diagnosis) == {"containerd-cri-disabled": ("h1",)}
    assert "st-runtime-down" not in list_roots(diagnosis)


def test_a_dead_host_is_a_root_and_makes_all_else_of_it_unknown() -> None:
    diagnosis = diagnose(drop_host(hosts.build_snapshot({("kernel.sysctls", "h1"): FORWARDING_OFF}), "h2"))
    assert list_roots(diagnosis) == {"host-ip-forward-off": ("h1",), "host-ssh-unreachable": ("h2",)}
    of_h2 = {
        id: judgement.outcome
        for (id, location), judgement in diagnosis.judgements.items()
        if location == "h2" and id in load_graph()
    }
    assert of_h2.pop("host-ssh-unreachable") == of_h2.pop("st-host-unmanaged") == "failed"
    assert set(of_h2.values()) == {"unknown"}
    assert diagnosis.roots[-1].hidden_checks == len([id for id in of_h2 if id in load_graph()])


def test_without_any_answer_nothing_is_well() -> None:
    snapshot = hosts.build_snapshot()
    diagnosis = diagnose(replace(snapshot, answers={}, reach={name: Reach(name) for name in snapshot.reach}))
    assert (diagnosis.roots, diagnosis.healthy, diagnosis.exit_status) == ((), False, 8)


def test_what_differs_and_is_no_fault_is_reported_by_itself() -> None:
    older = read_case(
        "packages.installed",
        "prepared-debian-12",
        ("containerd.io hold installed 2.3.7", "containerd.io hold installed 2.3.6"),
    )
    diagnosis = diagnose(hosts.build_snapshot({("packages.installed", "h1"): older}))
    assert ("containerd", "version", ("h1",)) in [
        (drift.step, drift.check, drift.locations) for drift in diagnosis.drift
    ]


def test_a_risk_hides_its_own_difference_alone() -> None:
    packages = read_case(
        "packages.installed",
        "prepared-debian-12",
        (
            "containerd.io hold installed 2.3.7",
            "docker.io install installed 26.1.5\ncontainerd.io hold installed 2.3.6",
        ),
    )
    diagnosis = diagnose(hosts.build_snapshot({("packages.installed", "h1"): packages}))
    assert {root.id: root.severity for root in diagnosis.roots} == {"host-docker-preinstalled": "risk"}
    assert ("containerd", "version") in {(drift.step, drift.check) for drift in diagnosis.drift}
    swap = read_case("kernel.swap", "ubuntu-swapfile")
    diagnosis = diagnose(hosts.build_snapshot({("kernel.swap", "h1"): swap}))
    assert [root.severity for root in diagnosis.roots] == ["risk"]
    assert ("prereqs", "swap-off") not in {(drift.step, drift.check) for drift in diagnosis.drift}


def test_a_tainted_only_node_fails() -> None:
    """The taint of the recorded control plane is right with a worker, and wrong without one."""
    key = ("control-plane-taint-single-node", "@cluster")
    assert diagnose(cluster.build_snapshot({}, {}, (K1,))).judgements[key].outcome == "failed"
    assert key not in diagnose(cluster.build_snapshot()).judgements


def test_a_healthy_cluster_has_no_finding() -> None:
    """Probes that were not recorded are unknown, and reported so."""
    diagnosis = diagnose(cluster.build_snapshot())
    assert (diagnosis.roots, diagnosis.unexplained_symptoms) == ((), ())
    assert diagnosis.healthy is not bool(diagnosis.unknown)


@pytest.mark.parametrize("enabled", [False, True])
def test_a_cluster_without_monitoring_is_healthy_where_the_spec_disables_it(*, enabled: bool) -> None:
    # A recorded cluster of one host without monitoring, whose API answers that there is no such Service.
    snapshot = read_recording(Path("tests/snapshots/healthy-vm.jsonl"))
    monitoring = snapshot.inventory.spec.monitoring.model_copy(update={"enabled": enabled})
    spec = snapshot.inventory.spec.model_copy(update={"monitoring": monitoring})
    # What is asked since it was recorded.
    newer_answers = place_answers(
        CLUSTER,
        *(read_case(probe, "control-plane") for probe in ("gpu.quotas", "gpu.quota-refusals")),
        *(
            read_case(probe, "two-hosts")
            for probe in ("pods.system", "pods.flannel", "pods.storage", "pods.failed", "pods.refused")
        ),
        *(
            read_case(probe, "usual")
            for probe in (
                "workloads.system-deployments",
                "workloads.system-daemon-sets",
                "workloads.flannel-daemon-sets",
                "api-services.unavailable",
                "api-services.endpoints",
                "warnings.nodes",
                "warnings.system",
                "warnings.flannel",
                "warnings.gpu",
            )
        ),
    )
    for host in snapshot.inventory.hosts:
        newer_answers |= place_answers(
            host.name, read_case("units.failed", "none"), read_case("kube-proxy.last-error", "none")
        )
    inventory, answers = replace(snapshot.inventory, spec=spec), {**snapshot.answers, **newer_answers}
    diagnosis = diagnose(replace(snapshot, inventory=inventory, answers=answers))
    reasons = {judgement.reason for judgement in diagnosis.judgements.values() if judgement.outcome == "unknown"}
    absent = 'unexpected answer (rc 1): services "monitoring-prometheus" not found'
    assert (absent in reasons, diagnosis.exit_status == 0) == (enabled, not enabled)

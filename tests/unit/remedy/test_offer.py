"""A machine may fix some roots on recorded hosts, and others not."""

from dataclasses import replace

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Reach
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.graph import load_graph
from gpustack.remedy.offer import Offer, build_offer, build_offers
from tests.worlds.programs.fix_run import FORWARD, SWAP
from tests.worlds.results.diagnoses import INVENTORY, make_diagnosis
from tests.worlds.snapshots import answers, cluster, hosts
from tests.worlds.snapshots.answers import read_case


def find_offer(diagnosis: Diagnosis, id: str) -> Offer:
    (offer,) = (offer for offer in build_offers(diagnosis) if offer.id == id)
    return offer


def test_a_playbook_gets_the_parameters_of_the_catalogue() -> None:
    offer = find_offer(diagnose(hosts.build_snapshot(FORWARD)), "host-ip-forward-off")
    assert (offer.play, offer.hosts, offer.obstacle) == ("remedy/sysctl", ("h1",), "")
    assert offer.host_variables == {"h1": {"gpustack_remedy": {"net.ipv4.ip_forward": "1"}}}
    assert offer.commands == ("sysctl -w net.ipv4.ip_forward=1",)


@pytest.mark.parametrize(
    ("networkd", "manager", "reads", "reason"),
    [
        ("cni0 configuring", "cni0:unmanaged", "systemd-networkd", ""),
        ("cni0 unmanaged", "cni0:disconnected", "NetworkManager", ""),
        ("", "", "NetworkManager", "what manages the links of h1"),
    ],
)
def test_a_file_is_written_where_somebody_reads_it(networkd: str, manager: str, reads: str, reason: str) -> None:
    stdout = "".join(f"{line}\n" for line in ("== systemd-networkd", networkd, "== NetworkManager", manager) if line)
    links = {("network.managed-links", "h1"): answers.make_answer("network.managed-links", stdout)}
    id = "host-networkmanager-owns-cni"
    offer = build_offer(hosts.build_snapshot(links), Finding(id, (Judgement(id, "h1", "failed"),), "certain"))
    assert offer.obstacle[: len(reason)] == reason
    assert bool(offer.obstacle) == bool(reason)
    assert offer.host_variables["h1"]["gpustack_remedy"]["reload"] == reads
    assert offer.commands[-1] == f"systemctl reload {reads}"


def test_a_parameter_that_somebody_s_file_sets_otherwise_needs_a_confirmation() -> None:
    live = find_offer(diagnose(hosts.build_snapshot(FORWARD)), "host-ip-forward-off")
    assert (live.remediation, live.reason) == ("automatic", live.fault.reason)
    sysctls = {("kernel.sysctls", "h1"): read_case("kernel.sysctls", "drifted-debian-12")}
    offer = find_offer(diagnose(hosts.build_snapshot(sysctls)), "host-ip-forward-off")
    assert offer.remediation == "needs-confirmation"
    assert offer.reason == "h1: it overrides a file: /etc/sysctl.d/99-hardening.conf sets net.ipv4.ip_forward = 0"


def test_a_step_that_also_turns_swap_off_needs_a_confirmation() -> None:
    id = "host-apparmor-parser-missing"
    root = Finding(id, (Judgement(id, "h1", "failed"),), "certain")
    assert build_offer(hosts.build_snapshot(), root).remediation == "automatic"
    offer = build_offer(hosts.build_snapshot(SWAP), root)
    assert (offer.remediation, offer.reason) == ("needs-confirmation", "h1: its step turns swap off as well")


def test_a_step_that_a_cluster_does_not_have_mends_nothing() -> None:
    """A cluster of several hosts keeps the taint of its control plane."""
    id = "control-plane-taint-single-node"
    root = Finding(id, (Judgement(id, CLUSTER, "failed"),), "certain")
    assert "no step taint" in build_offer(cluster.build_snapshot(), root).obstacle


def test_a_step_is_played_on_the_hosts_concerned() -> None:
    offer = find_offer(diagnose(hosts.build_snapshot(SWAP)), "host-swap-on")
    assert (offer.play, offer.hosts, offer.host_variables) == ("prereqs", ("h1",), {})


def test_containerd_gets_the_files_of_others_that_turn_cri_off() -> None:
    disabling = read_case("containerd.configuration", "prepared-debian-12")
    files = f'{disabling.stdout}== conf.d/00-docker.toml 1\ndisabled_plugins = ["cri"]\n'
    silent = replace(read_case("containerd.runtime", "prepared-debian-12"), rc=1, stdout="")
    changed_answers = {
        ("containerd.configuration", "h1"): replace(disabling, stdout=files),
        ("containerd.runtime", "h1"): silent,
    }
    offer = find_offer(diagnose(hosts.build_snapshot(changed_answers)), "containerd-cri-disabled")
    assert (offer.play, offer.obstacle) == ("containerd", "")
    assert offer.host_variables == {"h1": {"gpustack_fix": {"files": ["conf.d/00-docker.toml"]}}}
    assert "containerd restarts" in offer.interrupts
    assert offer.commands == ("sudoedit /etc/containerd/conf.d/00-docker.toml", "systemctl restart containerd")


def test_a_plugin_that_no_file_turns_off_is_for_a_person() -> None:
    """The plugin failed to load because of a setting, of which the step knows nothing."""
    silent = replace(read_case("containerd.runtime", "prepared-debian-12"), rc=1, stdout="")
    offer = find_offer(
        diagnose(hosts.build_snapshot({("containerd.runtime", "h1"): silent})), "containerd-cri-disabled"
    )
    assert offer.obstacle.startswith("no file turns it off on h1: ")


def test_what_install_refuses_is_refused_here() -> None:
    older = read_case("packages.installed", "prepared-debian-12", ("2.3.7", "2.3.6"))
    silent = replace(read_case("containerd.runtime", "prepared-debian-12"), rc=1, stdout="")
    offer = find_offer(
        diagnose(hosts.build_snapshot({("packages.installed", "h1"): older, ("containerd.runtime", "h1"): silent})),
        "containerd-cri-disabled",
    )
    assert "step containerd would be refused" in offer.obstacle


def test_a_host_that_is_not_reached_and_what_is_for_a_person_are_left_alone() -> None:
    reasons = {
        offer.id: offer.obstacle
        for offer in build_offers(make_diagnosis({"host-ssh-unreachable@gpu2": "!timeout"}, unreached_host="gpu2"))
    }
    assert reasons["host-ssh-unreachable"]
    assert all(
        offer.obstacle
        for offer in build_offers(make_diagnosis({"host-ip-forward-off@gpu2": "!0"}, unreached_host="gpu2"))
    )


def test_a_host_of_which_too_little_is_known_is_not_changed() -> None:
    diagnosis = make_diagnosis({"host-ip-forward-off@gpu1": "!0"})
    (offer,) = build_offers(replace(diagnosis, snapshot=replace(diagnosis.snapshot, answers={})))
    assert offer.obstacle == "too little is known of gpu1 to change it"
    assert Reach("gpu1").reached
    assert INVENTORY.hosts


def test_every_remedy_has_words_for_people() -> None:
    from gpustack.remedy.descriptions import describe_interruption, list_manual_commands

    for fault in load_graph().faults.values():
        if fault.remedy and not fault.remedy.step:
            assert list(list_manual_commands(fault.remedy, {"nodes": []})), fault.id
            assert isinstance(describe_interruption(fault.remedy), str)


@pytest.mark.parametrize(
    ("case", "interrupts"),
    [
        ("training", "pods that hold GPUs: h1: default/train-0, team-a/notebook-7d4b"),
        ("other-shape", "pods that hold GPUs: h1: not known"),
        ("no-gpu", ""),
    ],
)
def test_a_fix_that_interrupts_something_names_the_pods_that_hold_gpus(case: str, interrupts: str) -> None:
    units = {("units.services", "h1"): read_case("units.services", "fresh-debian-12")}
    pods = {("gpu.holding-pods", "h1"): read_case("gpu.holding-pods", case)}
    id = "containerd-not-running"
    offer = build_offer(hosts.build_snapshot(units | pods), Finding(id, (Judgement(id, "h1", "failed"),), "certain"))
    assert offer.interrupts.startswith("containerd restarts; pods run on, and none starts for some seconds")
    assert offer.interrupts.partition(" seconds; ")[2] == interrupts

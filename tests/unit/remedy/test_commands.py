"""Commands name the host and the node that they are for, where there is one."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.judge import Judgement, Result
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.command import Prose
from gpustack.doctor.check import build_names
from gpustack.doctor.finding import Finding
from gpustack.remedy.commands import build_commands, fill_line
from gpustack.remedy.offer import build_offer
from tests.worlds.snapshots import cluster, gpus
from tests.worlds.snapshots.answers import place_answers, read_case

TOOLKIT, UNREACHED_HOST, FORWARD = "op-nvidia-runtime-handler-missing", "host-ssh-unreachable", "host-ip-forward-off"
OF_OPERATOR, DISABLED_CRI = "op-crd-stale", "containerd-cri-disabled"
TAINTED_NODE = "op-gpu-node-tainted"


def build_finding(id: str, *locations: str) -> Finding:
    return Finding(id, tuple(Judgement(id, location, "failed") for location in locations), "certain")


def format_repairs(id: str, *locations: str, snapshot: Snapshot | None = None) -> str:
    return "\n".join(build_commands(build_finding(id, *locations), snapshot or gpus.build_snapshot()).repairs)


def test_one_host_is_named_as_one_logs_in_and_its_node_as_kubernetes_knows_it() -> None:
    assert "ssh -v 10.78.0.12 true" in format_repairs(UNREACHED_HOST, "k2")
    assert "spec.nodeName=k2" in format_repairs(TOOLKIT, "k2")


def test_user_and_port_of_the_inventory_stand_in_commands() -> None:
    """ssh-keygen -R with the address alone forgets the key of another host, on port 22."""
    host = replace(cluster.K2, user="o$ps", port=2222)
    text = format_repairs(UNREACHED_HOST, "k2", snapshot=gpus.build_snapshot(hosts=(cluster.K1, host)))
    assert "ssh -v 'ssh://o$ps@10.78.0.12:2222' true" in text
    assert "ssh-keygen -R '[10.78.0.12]:2222' " in text
    six = replace(host, address="fd00::1")
    text = format_repairs(UNREACHED_HOST, "k2", snapshot=gpus.build_snapshot(hosts=(cluster.K1, six)))
    assert "ssh -v 'ssh://o$ps@[fd00::1]:2222' true" in text


def test_of_several_hosts_each_command_is_one_of_its_own() -> None:
    assert "ssh -v HOST true" in format_repairs(UNREACHED_HOST, "k1", "k2")
    assert "spec.nodeName=NODE" in format_repairs(TOOLKIT, "k1", "k2")


def test_a_node_that_is_not_known_is_not_guessed() -> None:
    dead = gpus.build_snapshot(place_answers(CLUSTER, read_case("kube.nodes", "refused")))
    assert "spec.nodeName=NODE" in format_repairs(TOOLKIT, "k2", snapshot=dead)


def build_tainted(**keys: str) -> Finding:
    """Build a finding with, by host, the key of a taint of its node."""
    values = {host: Result("taints", "tolerated", key, names=build_names(KEY=[key])) for host, key in keys.items()}
    return Finding(
        TAINTED_NODE, tuple(Judgement(TAINTED_NODE, host, "failed", values[host]) for host in keys), "certain"
    )


def test_what_was_found_stands_for_its_word() -> None:
    """The value stands as it was found, for a shell; where it differs between hosts, the word stays."""
    world = gpus.build_snapshot()
    assert "kubectl taint node k2 team-" in build_commands(build_tainted(k2="team"), world).repairs
    assert "kubectl taint node NODE team-" in build_commands(build_tainted(k1="team", k2="team"), world).repairs
    assert "kubectl taint node NODE KEY-" in build_commands(build_tainted(k1="team", k2="other"), world).repairs
    assert "kubectl taint node k2 '$(reboot)-'" in build_commands(build_tainted(k2="$(reboot)"), world).repairs
    assert build_names(KEY=["a", "b"], NAME=["c", "c"], UNIT=[]) == (("NAME", "c"),)


def test_namespaces_are_called_as_the_spec_calls_them() -> None:
    inventory = gpus.build_snapshot(spec={"gpu": {"namespace": "gpus"}}).inventory
    assert fill_line("kubectl -n gpu-operator get pods -l a=gpu-operator", inventory, {}) == (
        "kubectl -n gpus get pods -l a=gpu-operator"
    )


def test_the_command_that_has_it_done_is_there_where_a_machine_may() -> None:
    system_answers = {
        (probe, "k2"): read_case(probe, "prepared-debian-12") for probe in ("system.os", "system.hostname")
    }
    system_answers["network.address", "k2"] = Answer(
        "network.address", "k2", 0, "192.0.2.1 dev eth0 src 10.78.0.12 uid 0\n"
    )
    snapshot = gpus.build_snapshot(system_answers)
    assert any("doctor --fix" in line for line in build_commands(build_finding(FORWARD, "k2"), snapshot).hints)
    assert not any(
        "doctor --fix" in line for line in build_commands(build_finding(UNREACHED_HOST, "k2"), snapshot).hints
    )


def test_it_is_not_where_this_cluster_has_no_such_step() -> None:
    """A device plugin of the host's own stack is none of the operator's."""
    snapshot = gpus.build_snapshot(spec={"gpu": {"stack": "host"}})
    assert not any(
        "doctor --fix" in line for line in build_commands(build_finding(OF_OPERATOR, CLUSTER), snapshot).hints
    )


def build_containerd(case: str) -> Snapshot:
    configuration = "containerd.configuration"
    return gpus.build_snapshot(place_answers("k2", read_case(configuration, case)))


def test_install_is_offered_where_it_would_do_something() -> None:
    """Install gets --force where its checks see no difference, and is not offered where it would refuse, as with
    somebody's file."""
    assert "gpustack install -i hosts.yml --only monitoring --force" in format_repairs("mon-crd-stale", CLUSTER)
    assert "--force" not in format_repairs(DISABLED_CRI, "k2", snapshot=build_containerd("prepared-debian-12"))
    assert not any(
        "install" in line
        for line in build_commands(build_finding(DISABLED_CRI, "k2"), build_containerd("nvidia-toolkit")).repairs
    )


def test_a_step_that_this_cluster_has_not_is_not_offered() -> None:
    snapshot = gpus.build_snapshot(spec={"gpu": {"stack": "host"}})
    assert not any(
        "gpu-operator" in line for line in build_commands(build_finding(OF_OPERATOR, CLUSTER), snapshot).repairs
    )


def test_a_remark_stays_behind_the_inventory() -> None:
    """Else a command is typed without it, and goes to another cluster."""
    inventory = gpus.build_snapshot().inventory
    assert (
        fill_line("gpustack reset    # only an empty one", inventory, {})
        == "gpustack reset -i hosts.yml    # only an empty one"
    )
    assert (
        fill_line("gpustack install --only a    # b", inventory, {}) == "gpustack install -i hosts.yml --only a    # b"
    )


def test_why_install_leaves_it_to_a_person_is_reported() -> None:
    (command,) = build_commands(build_finding(DISABLED_CRI, "k2"), build_containerd("nvidia-toolkit")).manual
    assert "conf.d/site.toml" in command
    assert build_commands(build_finding(DISABLED_CRI, "k2"), build_containerd("prepared-debian-12")).manual == ()


def test_what_the_remedy_does_not_fix_as_it_was_found_is_for_a_person() -> None:
    result = Result("monitor", "ours", "theirs", person=Prose("it is not ours to change"))
    other_finding = Finding("mon-crd-stale", (Judgement("mon-crd-stale", CLUSTER, "failed", result),), "certain")
    snapshot = gpus.build_snapshot()
    assert build_commands(other_finding, snapshot).manual == ("it is not ours to change",)
    assert not any("install" in line or "--fix" in line for line in build_commands(other_finding, snapshot).hints)
    assert build_offer(snapshot, other_finding).obstacle == "manual: it is not ours to change"


@pytest.mark.parametrize(("certain", "has_repairs"), [(True, True), (False, False)])
def test_the_catalogue_gives_no_command_that_fails_again(certain: bool, has_repairs: bool) -> None:
    """kubernetes/kubernetes#141943: a kube-proxy that is started again ends again."""
    result = Result("kube-proxy", "listening", "not listening", person=Prose("it ended by itself"), certain=certain)
    finding = Finding("kube-proxy-down", (Judgement("kube-proxy-down", "k2", "failed", result),), "likely")
    commands = build_commands(finding, gpus.build_snapshot())
    assert (bool(commands.repairs), commands.manual) == (has_repairs, ("it ended by itself",))
    assert build_offer(gpus.build_snapshot(), finding).obstacle == "manual: it ended by itself"


def test_no_command_of_the_catalogue_is_cut_by_a_comment_of_yaml() -> None:
    for path in sorted(Path("gpustack/doctor/catalogue").glob("*.yaml")):
        cut = [line for line in path.read_text().splitlines() if re.match(r"^ +- [^'\"].* #", line)]
        assert cut == [], path.name

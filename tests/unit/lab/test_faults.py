"""Faults of a lab: what is run where, what is remembered, and what is refused."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpustack.doctor.catalogue import LAYERS
from gpustack.doctor.graph import load_graph
from gpustack.errors import LabError
from gpustack_lab.lab import Lab
from gpustack_lab.lab.faults import active_faults, inject
from gpustack_lab.lab.faults.entries import (
    Injector,
    find,
    read_decoys,
    read_healthy_changes,
    read_injectors,
    read_uncarried_faults,
)
from tests.unit.lab.records import record

HOSTS = ("host1", "host2")
# Of facts about which faults are reported most, those of hosts and of Kubernetes itself.
MOST_COMMON = (
    "containerd-cgroup-driver", "containerd-config-key-wrong-schema", "containerd-cri-disabled",
    "controlplane-certs-expired", "host-apt-lock", "host-cloud-image-reject-rules", "host-ip-forward-off",
    "host-resolv-stub-loop", "host-ufw-blocks-pods", "image-pull-rate-limited", "kube-proxy-down",
    "kubeadm-stale-state", "kubelet-client-cert-expired", "node-ip-changed",
)  # fmt: skip
FAULT, SECOND = "host-ip-forward-off/live", "containerd-not-running"


@dataclass(frozen=True)
class Fake(Lab):
    """Keeps what it was to run; `fails` are words of scripts that do not work."""

    ran: list[tuple[str, str]] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)

    def exec(
        self, host: str, argv: Sequence[str], *, text: str = "", limit: float = 600.0
    ) -> "subprocess.CompletedProcess[str]":
        self.ran.append((host, text))
        code = int(any(word in text for word in self.fails))
        return subprocess.CompletedProcess(list(argv), code, "", "it did not work\n")


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    (tmp_path / "state").mkdir()
    return Fake(record(tmp_path / "state"))


def list_words(fake_lab: Fake) -> list[tuple[str, str]]:
    """List the host and the last line of each script."""
    return [(host, text.strip().splitlines()[-1]) for host, text in fake_lab.ran]


def test_each_injector_is_of_the_catalogue_and_can_be_undone() -> None:
    assert {injector.fault for injector in read_injectors().values()} <= set(load_graph().faults)
    for injector in (*read_injectors().values(), *read_decoys().values(), *read_healthy_changes().values()):
        assert any("break" in part for part in (injector.host, injector.plane, injector.gpu)), injector.name
        assert any("heal" in part for part in (injector.host, injector.plane, injector.gpu)), injector.name
        assert injector.does[0].islower(), injector.name
        assert not injector.does.endswith("."), injector.name


@pytest.mark.parametrize("layer", LAYERS)
def test_each_fault_can_be_made_or_has_a_reason(layer: str) -> None:
    ids = {id for id, fault in load_graph().faults.items() if fault.layer == layer}
    able = {id for id in ids if load_graph().faults[id].fidelity in {"real", "sim"}}
    injected_ids = {injector.fault for injector in read_injectors().values()} & ids
    reasons = read_uncarried_faults()[layer]
    assert sorted(injected_ids & set(reasons)) == []
    assert sorted(able - injected_ids - set(reasons)) == []
    assert sorted(set(reasons) - able) == []
    assert all(reason.strip() for reason in reasons.values())


def test_what_is_reported_most_is_made_in_two_ways() -> None:
    counts = Counter(injector.fault for injector in read_injectors().values())
    assert [fault for fault in MOST_COMMON if counts[fault] < 2] == []


def test_decoys_are_given_to_every_host_once_and_taken_away(fake: Fake) -> None:
    assert len(read_decoys()) >= 10
    injected_decoys = inject.inject_decoys(fake)
    assert {(decoy.injector, decoy.host) for decoy in injected_decoys} == {
        (name, host) for name in read_decoys() for host in HOSTS
    }
    assert inject.inject_decoys(fake) == []
    assert {fault.injector for fault in inject.undo_faults(fake, "decoy")} == set(read_decoys())
    assert not set(read_decoys()) & set(read_injectors())


def list_scripts(injector: Injector) -> list[str]:
    return [*injector.host.values(), *injector.plane.values()]


@pytest.mark.long
def test_shellcheck_accepts_all_scripts(tmp_path: Path) -> None:
    program = shutil.which("shellcheck")
    assert program, "shellcheck comes with the development lock: make env"
    # What inject.run says before a script; then all scripts, each in a function, since the prelude is long to check.
    whole_script = inject.read_functions() + "NODE='' ADDRESS='' PLANE='' HOSTS=''\nexport NODE ADDRESS PLANE HOSTS\n"
    for injector in (*read_injectors().values(), *read_decoys().values(), *read_healthy_changes().values()):
        for number, script in enumerate(list_scripts(injector)):
            name = re.sub(r"\W", "_", injector.name)
            whole_script += f"{name}_{number}() {{\n{script}\n}}\n"
    path = tmp_path / "all.sh"
    path.write_text(whole_script)
    # SC2317, SC2329: functions that nobody here calls.
    words = [program, "--shell=dash", "--exclude=SC2317,SC2329", str(path)]
    process = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stdout


def test_it_is_made_on_a_worker_waited_for_and_undone(fake: Fake) -> None:
    assert [fault.host for fault in inject.inject_fault(fake, FAULT)] == ["host2"]
    assert list_words(fake) == [
        ("host2", "sysctl -qw net.ipv4.ip_forward=0"),
        ("host2", 'test "$(cat /proc/sys/net/ipv4/ip_forward)" = 0'),
    ]
    assert "NODE=host2 ADDRESS=10.77.3.12 PLANE=10.77.3.11" in fake.ran[0][1]
    inject.undo_faults(fake)
    assert list_words(fake)[-1] == ("host2", "sysctl -qw net.ipv4.ip_forward=1")
    assert active_faults.read(fake.record) == []


def test_the_first_way_is_that_of_the_bare_name() -> None:
    assert find("host-ip-forward-off").name == FAULT


def test_a_fault_is_injected_on_the_named_host(fake: Fake) -> None:
    inject.inject_fault(fake, FAULT, "host1", wait=False)
    assert list_words(fake) == [("host1", "sysctl -qw net.ipv4.ip_forward=0")]


def test_injecting_twice_is_refused(fake: Fake) -> None:
    inject.inject_fault(fake, FAULT)
    with pytest.raises(LabError, match="was made before"):
        inject.inject_fault(fake, FAULT)


def test_faults_are_recovered_from_the_last_on_or_by_name(fake: Fake) -> None:
    inject.inject_fault(fake, FAULT, wait=False)
    inject.inject_fault(fake, SECOND, wait=False)
    assert [fault.injector for fault in inject.undo_faults(fake, "host-ip-forward-off")] == [FAULT]
    assert [fault.injector for fault in active_faults.read(fake.record)] == [SECOND]
    inject.inject_fault(fake, FAULT, wait=False)
    assert [fault.injector for fault in inject.undo_faults(fake)] == [SECOND, FAULT]
    assert list_words(fake)[-1] == (
        "host2",
        "await crictl --runtime-endpoint unix:///run/containerd/containerd.sock version",
    )


def test_one_of_two_is_recovered_without_waiting_for_the_other(fake: Fake) -> None:
    inject.inject_fault(fake, FAULT, wait=False)
    inject.inject_fault(fake, SECOND, wait=False)
    fake.ran.clear()
    inject.undo_faults(fake)
    assert ["BESIDE=yes" in text for _, text in fake.ran] == [True, False]


def test_what_failed_half_way_is_remembered(fake: Fake) -> None:
    fake.fails.append("ip_forward=0")
    with pytest.raises(LabError, match="could not be done on host2") as error:
        inject.inject_fault(fake, FAULT)
    assert error.value.reason == "it did not work"
    assert [fault.injector for fault in active_faults.read(fake.record)] == [FAULT]


def test_what_cannot_be_recovered_stays_on_the_list(fake: Fake) -> None:
    inject.inject_fault(fake, FAULT, wait=False)
    inject.inject_fault(fake, SECOND, wait=False)
    fake.fails.append("ip_forward=1")
    with pytest.raises(LabError):
        inject.undo_faults(fake)
    assert [fault.injector for fault in active_faults.read(fake.record)] == [FAULT]


def test_unknown_names_are_refused_with_similar_ones(fake: Fake) -> None:
    with pytest.raises(LabError) as error:
        inject.inject_fault(fake, "host-ip-forward-of")
    assert "host-ip-forward-off" in error.value.reason
    with pytest.raises(LabError, match="no host 'host9'"):
        inject.inject_fault(fake, FAULT, "host9")

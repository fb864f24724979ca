"""The table of interruptions: from which point, in which step, what happens.

Each fault plays itself on a stage and says in words what was seen. It fails when it could not be done, or when the
broken-off run did not say what it should.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.lab import host_faults as on_hosts
from tests.lab import operator_faults as by_operators
from tests.lab.stage import CONFIGURING, Stage, pause
from tests.lab.story import BEFORE, list_tasks

HOST_STEPS = ("prereqs", "firewall", "containerd", "kubernetes")


@dataclass(frozen=True)
class Case:
    """`start` is the point it begins from; `step_limit` the steps of the broken-off run and of the next one, all
    when empty."""

    id: str
    fault: str
    step: str
    start: str
    step_limit: str
    play: Callable[[Stage], str]


def kill_at_task(stage: Stage, step: str, *, alone: bool = False, force: bool = False) -> str:
    """Kill the run at a task of the step and after a delay that the seed chooses."""
    run = stage.run("install", *(("--force",) if force else ()))
    task, delay = stage.rng.choice(list_tasks(step)), stage.rng.uniform(0, 0.8)
    run.wait_for_task(step, task)
    pause(run, delay)
    run.kill(alone=alone)
    return f"{delay:.1f} s after “{task}” began"


def kill_when(stage: Stage, host: str, condition: str, *, script: str = ":") -> str:
    with stage.watch(host, condition, script) as watcher:
        run = stage.run()
        stage.wait_until_met(run, watcher)
        run.kill()
    return f"on {host}"


ETCD = "ss -Hltn 'sport = :2379' | grep -q ."
BOOTSTRAP = "[ -e /etc/kubernetes/bootstrap-kubelet.conf ] && [ ! -e /etc/kubernetes/kubelet.conf ]"
HAS_JOINED = "[ -e /etc/kubernetes/kubelet.conf ]"
KILL = "kill -9 $(pidof {})"
ALONE, TREE = "kill -9 of gpustack alone", "kill -9 of gpustack and its Ansible"
HERE_AND_THERE = "kill -9 here, and of {} on the host"


def list_kills() -> list[Case]:
    counts = {
        "prereqs": 3, "firewall": 2, "containerd": 4, "kubernetes": 3, "control-plane": 3, "flannel": 2, "workers": 3,
    }  # fmt: skip
    cases = []
    for step, count in counts.items():
        for n in range(count):
            alone = n == 1
            # One of them goes on to the whole cluster.
            limit = step if step in HOST_STEPS and (step, n) != ("kubernetes", 0) else ""
            play = partial(kill_at_task, step=step, alone=alone)
            cases.append(Case(f"{step}-{n + 1}", ALONE if alone else TREE, step, BEFORE[step], limit, play))
    for step in ("containerd", "control-plane", "workers"):
        play = partial(kill_at_task, step=step, force=True)
        cases.append(Case(f"forced-{step}", f"{TREE}, --force on a healthy cluster", step, "cluster", "", play))
    return cases


def build_case(name: str, fault: str, step: str, host: str, condition: str, script: str = ":") -> Case:
    limit = step if step in HOST_STEPS else ""
    return Case(
        name, fault, step, BEFORE[step], limit, partial(kill_when, host=host, condition=condition, script=script)
    )


MOMENTS = [
    build_case("dpkg-configuring", f"{TREE}, dpkg configures", "containerd", "host1", CONFIGURING),
    build_case(
        "dpkg-killed", HERE_AND_THERE.format("dpkg"), "containerd", "host1", CONFIGURING, KILL.format("dpkg apt-get")
    ),
    build_case("init-etcd", f"{TREE}, kubeadm init, etcd is up", "control-plane", "host1", ETCD),
    build_case(
        "init-etcd-killed", HERE_AND_THERE.format("kubeadm"), "control-plane", "host1", ETCD, KILL.format("kubeadm")
    ),
    build_case("join-bootstrap", f"{TREE}, join, only bootstrap-kubelet.conf", "workers", "host2", BOOTSTRAP),
    build_case(
        "join-bootstrap-killed", HERE_AND_THERE.format("kubeadm join"), "workers", "host2", BOOTSTRAP,
        KILL.format("kubeadm"),
    ),
    build_case("join-joined", f"{TREE}, join, kubelet.conf is there", "workers", "host2", HAS_JOINED),
]  # fmt: skip

OTHER_FAULTS = [
    Case("ssh-worker", "SSH sessions of a worker killed", "containerd", "prepared", "containerd",
         partial(on_hosts.kill_sessions, host="host2", step="containerd")),
    Case("ssh-plane", "SSH sessions of the control plane killed", "workers", "network", "",
         partial(on_hosts.kill_sessions, host="host1", step="workers")),
    Case("ssh-silent", "packets to a worker's SSH dropped for 8 s", "containerd", "prepared", "containerd",
         on_hosts.silence_host),
    Case("power-worker", "power cut of a worker, dpkg configures", "containerd", "prepared", "containerd",
         partial(on_hosts.power_cut, host="host2", condition=CONFIGURING)),
    Case("power-plane", "power cut of the control plane, etcd is up", "control-plane", "packages", "",
         partial(on_hosts.power_cut, host="host1", condition=ETCD)),
    Case("power-join", "power cut of a worker, join, only bootstrap-kubelet.conf", "workers", "network", "",
         partial(on_hosts.power_cut, host="host2", condition=BOOTSTRAP)),
    Case("reboot-worker", "reboot of a worker", "kubernetes", "runtime", "kubernetes", on_hosts.reboot_host),
    Case("apt-locked", "apt locked by another process, released", "containerd", "prepared", "containerd",
         on_hosts.lock_apt),
    Case("apt-locked-long", "apt locked for longer than apt_lock_wait", "containerd", "prepared", "containerd",
         on_hosts.lock_apt_too_long),
    Case("disk-archives", "a host's disk full: packages cannot be fetched", "containerd", "prepared", "containerd",
         on_hosts.fill_archives),
    Case("disk-etc", "a host's disk full: dpkg cannot unpack", "containerd", "prepared", "containerd",
         on_hosts.fill_containerd_folder),
    Case("disk-controller-before", "the controller's disk full, before", "containerd", "prepared", "containerd",
         by_operators.fill_disk_before),
    Case("disk-controller-during", "the controller's disk full, during", "containerd", "prepared", "containerd",
         by_operators.fill_disk_during),
    Case("memory-controller-during", "the controller's memory disk full, during", "containerd", "prepared",
         "containerd", by_operators.fill_memory_during),
    Case("second-operator", "a second operator's install, plan and verify", "containerd", "prepared", "containerd",
         by_operators.start_second_operator),
    Case("second-after-kill", f"{TREE}, a second operator at the same moment", "containerd", "prepared", "containerd",
         by_operators.kill_first),
    Case("second-after-suspension", "gpustack stopped, a second operator", "containerd", "prepared", "containerd",
         by_operators.suspend_first),
    Case("second-other-order", "a second operator with another limit", "containerd", "prepared", "containerd",
         by_operators.start_in_other_order),
    Case("played-by-hand", "the printed command beside a run, and after it", "containerd", "prepared", "containerd",
         by_operators.play_by_hand),
    Case("lock-lost", "the lock lost to a second operator", "containerd", "prepared", "containerd",
         by_operators.lock_lost),
]  # fmt: skip

CASES = [*list_kills(), *MOMENTS, *OTHER_FAULTS]

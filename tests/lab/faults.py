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
from tests.lab.story import BEFORE, tasks

HOST_STEPS = ("prereqs", "firewall", "containerd", "kubernetes")


@dataclass(frozen=True)
class Case:
    """`start` is the point it begins from; `only` the steps of the broken-off run and of the next one, all when
    empty."""

    id: str
    fault: str
    step: str
    start: str
    only: str
    play: Callable[[Stage], str]


def killed(stage: Stage, step: str, *, alone: bool = False, force: bool = False) -> str:
    """At a task of the step and a delay that the seed chooses."""
    run = stage.run("install", *(("--force",) if force else ()))
    task, delay = stage.rng.choice(tasks(step)), stage.rng.uniform(0, 0.8)
    run.until_task(step, task)
    pause(run, delay)
    run.kill(alone=alone)
    return f"{delay:.1f} s after “{task}” began"


def killed_when(stage: Stage, host: str, condition: str, *, then: str = ":") -> str:
    with stage.watch(host, condition, then) as watcher:
        run = stage.run()
        stage.until_met(run, watcher)
        run.kill()
    return f"on {host}"


ETCD = "ss -Hltn 'sport = :2379' | grep -q ."
BOOTSTRAP = "[ -e /etc/kubernetes/bootstrap-kubelet.conf ] && [ ! -e /etc/kubernetes/kubelet.conf ]"
JOINED = "[ -e /etc/kubernetes/kubelet.conf ]"
KILL = "kill -9 $(pidof {})"
ALONE, TREE = "kill -9 of gpustack alone", "kill -9 of gpustack and its Ansible"
HERE_AND_THERE = "kill -9 here, and of {} on the host"


def kills() -> list[Case]:
    counts = {
        "prereqs": 3, "firewall": 2, "containerd": 4, "kubernetes": 3, "control-plane": 3, "flannel": 2, "workers": 3,
    }  # fmt: skip
    cases = []
    for step, count in counts.items():
        for n in range(count):
            alone = n == 1
            # One of them goes on to the whole cluster.
            only = step if step in HOST_STEPS and (step, n) != ("kubernetes", 0) else ""
            play = partial(killed, step=step, alone=alone)
            cases.append(Case(f"{step}-{n + 1}", ALONE if alone else TREE, step, BEFORE[step], only, play))
    for step in ("containerd", "control-plane", "workers"):
        play = partial(killed, step=step, force=True)
        cases.append(Case(f"forced-{step}", f"{TREE}, --force on a healthy cluster", step, "cluster", "", play))
    return cases


def moment(name: str, fault: str, step: str, host: str, condition: str, then: str = ":") -> Case:
    only = step if step in HOST_STEPS else ""
    return Case(name, fault, step, BEFORE[step], only, partial(killed_when, host=host, condition=condition, then=then))


MOMENTS = [
    moment("dpkg-configuring", f"{TREE}, dpkg configures", "containerd", "host1", CONFIGURING),
    moment(
        "dpkg-killed", HERE_AND_THERE.format("dpkg"), "containerd", "host1", CONFIGURING, KILL.format("dpkg apt-get")
    ),
    moment("init-etcd", f"{TREE}, kubeadm init, etcd is up", "control-plane", "host1", ETCD),
    moment(
        "init-etcd-killed", HERE_AND_THERE.format("kubeadm"), "control-plane", "host1", ETCD, KILL.format("kubeadm")
    ),
    moment("join-bootstrap", f"{TREE}, join, only bootstrap-kubelet.conf", "workers", "host2", BOOTSTRAP),
    moment(
        "join-bootstrap-killed", HERE_AND_THERE.format("kubeadm join"), "workers", "host2", BOOTSTRAP,
        KILL.format("kubeadm"),
    ),
    moment("join-joined", f"{TREE}, join, kubelet.conf is there", "workers", "host2", JOINED),
]  # fmt: skip

OTHERS = [
    Case("ssh-worker", "SSH sessions of a worker killed", "containerd", "prepared", "containerd",
         partial(on_hosts.sessions_killed, host="host2", step="containerd")),
    Case("ssh-plane", "SSH sessions of the control plane killed", "workers", "network", "",
         partial(on_hosts.sessions_killed, host="host1", step="workers")),
    Case("ssh-silent", "packets to a worker's SSH dropped for 8 s", "containerd", "prepared", "containerd",
         on_hosts.silenced),
    Case("power-worker", "power cut of a worker, dpkg configures", "containerd", "prepared", "containerd",
         partial(on_hosts.power_cut, host="host2", condition=CONFIGURING)),
    Case("power-plane", "power cut of the control plane, etcd is up", "control-plane", "packages", "",
         partial(on_hosts.power_cut, host="host1", condition=ETCD)),
    Case("power-join", "power cut of a worker, join, only bootstrap-kubelet.conf", "workers", "network", "",
         partial(on_hosts.power_cut, host="host2", condition=BOOTSTRAP)),
    Case("reboot-worker", "reboot of a worker", "kubernetes", "runtime", "kubernetes", on_hosts.rebooted),
    Case("apt-locked", "apt locked by another process, released", "containerd", "prepared", "containerd",
         on_hosts.apt_locked),
    Case("apt-locked-long", "apt locked for longer than apt_lock_wait", "containerd", "prepared", "containerd",
         on_hosts.apt_locked_for_too_long),
    Case("disk-archives", "a host's disk full: packages cannot be fetched", "containerd", "prepared", "containerd",
         on_hosts.archives_full),
    Case("disk-etc", "a host's disk full: dpkg cannot unpack", "containerd", "prepared", "containerd",
         on_hosts.unpacking_full),
    Case("disk-controller-before", "the controller's disk full, before", "containerd", "prepared", "containerd",
         by_operators.disk_full_before),
    Case("disk-controller-during", "the controller's disk full, during", "containerd", "prepared", "containerd",
         by_operators.disk_full_during),
    Case("memory-controller-during", "the controller's memory disk full, during", "containerd", "prepared",
         "containerd", by_operators.memory_full_during),
    Case("second-operator", "a second operator's install, plan and verify", "containerd", "prepared", "containerd",
         by_operators.second_operator),
    Case("second-after-kill", f"{TREE}, a second operator at the same moment", "containerd", "prepared", "containerd",
         by_operators.second_after_kill),
    Case("second-after-suspension", "gpustack stopped, a second operator", "containerd", "prepared", "containerd",
         by_operators.second_after_suspension),
    Case("second-other-order", "a second operator with another limit", "containerd", "prepared", "containerd",
         by_operators.other_order),
    Case("played-by-hand", "the printed command beside a run, and after it", "containerd", "prepared", "containerd",
         by_operators.played_by_hand),
    Case("lock-lost", "the lock lost to a second operator", "containerd", "prepared", "containerd",
         by_operators.lock_lost),
]  # fmt: skip

CASES = [*kills(), *MOMENTS, *OTHERS]

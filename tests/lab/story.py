"""An installation on two lab hosts has a snapshot after every part of it, where an interruption begins. host2 denies by
default, so that step firewall has something to do there."""

import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpustack.config.resources import locate_playbooks
from gpustack_lab import lab
from gpustack_lab.lab import snapshots
from tests.lab import witness
from tests.lab.conftest import Run
from tests.lab.firewalls import NFTABLES, follow_connections, run_as_root

# point: the steps that lead to it from the one before.
POINTS = {
    "bare": "",
    "fitted": "prereqs",
    "prepared": "firewall",
    "runtime": "containerd",
    "packages": "kubernetes",
    "plane": "control-plane",
    "network": "flannel",
    "cluster": "workers",
}
# The point from which a step is interrupted.
BEFORE = {
    "prereqs": "bare",
    "firewall": "fitted",
    "containerd": "prepared",
    "kubernetes": "runtime",
    "control-plane": "packages",
    "flannel": "plane",
    "workers": "network",
}
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s"
WITNESS = f"{KUBECTL} create configmap witness --from-literal=text=kept"
# What may never be lost: the cluster's keys, its nodes, and what its users put there.
KEPT_FILES = f"""
for file in ca.crt ca.key sa.pub etcd/ca.crt front-proxy-ca.crt; do
  [ ! -e /etc/kubernetes/pki/$file ] || sha256sum /etc/kubernetes/pki/$file
done
[ ! -e /etc/kubernetes/gpustack-kubeadm.yaml ] || {{
  {KUBECTL} get nodes -o 'jsonpath={{range .items[*]}}node {{.metadata.name}} {{.metadata.uid}}{{"\\n"}}{{end}}'
  {KUBECTL} get configmap witness -o 'jsonpath=witness {{.metadata.uid}} {{.data.text}}{{"\\n"}}' --ignore-not-found
}}
"""


@dataclass
class Story:
    """`now` is the point that the hosts are exactly at; empty after an interruption."""

    lab: lab.Lab
    gpustack: Run
    point: str = ""
    saved_points: list[str] = field(default_factory=list)

    def restore_nearest(self, point: str) -> None:
        """Bring the hosts to a point, from the nearest one that was saved."""
        order = list(POINTS)
        if not self.saved_points:
            with follow_connections(self.lab):
                run_as_root(self.lab, "host2", NFTABLES)
            self.keep("bare")
        for step in order[order.index(self.saved_points[-1]) + 1 : order.index(point) + 1]:
            self.restore(self.saved_points[-1])
            self.gpustack("install", "-i", self.lab.inventory, "--only", POINTS[step], "--yes", limit=900)
            if step == "plane":
                witness.connect_host(self.lab, "host1").check_output(WITNESS)
            self.keep(step)
        self.restore(point)

    def keep(self, point: str) -> None:
        self.lab.save(point)
        self.saved_points.append(point)
        self.point = point

    def restore(self, point: str) -> None:
        if self.point != point:
            self.lab.restore(point)
            self.point = point
        host = witness.connect_host(self.lab, "host1")
        if point in ("plane", "network", "cluster"):
            witness.wait_until("the API answers", lambda: host.run(f"{KUBECTL} get --raw /readyz").rc == 0)
        if point == "cluster":
            host.check_output(f"{KUBECTL} wait --for=condition=Ready node --all --timeout=100s")

    def list_kept(self) -> set[str]:
        return set(witness.connect_host(self.lab, "host1").check_output(KEPT_FILES).splitlines())


def open_story(running_lab: lab.Lab, gpustack: Run) -> Story:
    """Open the story of a lab that has snapshots already."""
    return Story(
        running_lab,
        gpustack,
        saved_points=[point for point in POINTS if snapshots.locate_snapshot(running_lab.record, point).exists()],
    )


def list_tasks(step: str) -> list[str]:
    """List the names of the tasks that a play of the step begins on these hosts, in their order."""
    role = locate_playbooks() / "roles" / step.replace("-", "_") / "tasks"
    files = ["main.yml", "nftables.yml"] if step == "firewall" else ["main.yml"]
    return [name for file in files for name in list_names(yaml.safe_load((role / file).read_text()))]


def list_names(nodes: Any) -> list[str]:
    names: list[str] = []
    for task in nodes or ():
        parts = [part for key in ("block", "always") for part in list_names(task.get(key))]
        names += parts or [task["name"]]
    return names


SEED = os.environ.get("INTERRUPT_SEED", "4")


def build_random(case: str) -> random.Random:
    return random.Random(f"{SEED}/{case}")


def on(story: Story, host: str, script: str, limit: float = 300) -> "subprocess.CompletedProcess[str]":
    """Run a script as root on a lab host, over a connection of the test's own."""
    return story.lab.exec(host, ["sudo", "sh", "-c", script], limit=limit)


def copy_inventory(story: Story, folder: Path, **spec: Any) -> Path:
    """Copy the lab's inventory with other settings in its cluster spec."""
    shutil.copytree(story.lab.inventory, folder)
    path = folder / "group_vars" / "all" / "gpustack.yml"
    document = yaml.safe_load(path.read_text())
    document["gpustack"] |= spec
    path.write_text(yaml.safe_dump(document))
    return folder

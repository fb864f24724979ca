"""Resets that never were, for the reports: what is shown first, one that went well, one that left something."""

from gpustack.ask.probe import Answer
from gpustack.command import Command
from gpustack.rollout.plan import PlaybookRun, TaskFailure
from gpustack.rollout.removal import Removal, judge_removal
from gpustack.rollout.reset import ResetOutcome
from tests.worlds.snapshots.reset_hosts import PLANE, WORKER, build_node, build_nodes, build_snapshot, render_records

MINE = [f"shop/web-{n}" for n in range(10)]
PODS = "== pods\n" + "\n".join([*MINE, "kube-system/kube-proxy-x"]) + "\n"
BUSY = WORKER | {
    "owned.membership": WORKER["owned.membership"].partition("== pods")[0] + PODS,
    "owned.packages": "== history\ncontainerd.io\nsocat\n== states\ncontainerd.io hold installed\n"
    "socat install installed\n== needs\n",
    "owned.kubernetes": "unit kubelet.service (runs)\nfile /etc/crictl.yaml\n",
    "owned.containerd": "file /etc/containerd/conf.d/gpustack.toml\n",
    "owned.records": render_records(
        ("/etc/kubernetes/kubelet.conf", "data"), ("/etc/crictl.yaml", "lines"),
        ("/etc/containerd/conf.d/gpustack.toml", "file"),
        ("/etc/containerd/config.toml", "lines", f"file 0644 0:0 {'b' * 64}"),
    ),
}  # fmt: skip
LINK = {"owned.flannel": "link cni0\n", "owned.records": render_records(("/sys/class/net/cni0", "link"), cluster="")}
LATE = Answer("owned.firewall", "k2", 124, "")
COMMAND = Command(
    "ansible-playbook", *("-i", "hosts.yml", "-i", "overlay.yml", "--limit", "k1,k2", "playbooks/reset.yml")
)


def make_preview() -> Removal:
    """A worker alone, of a cluster that stays; a question without an answer."""
    snapshot = build_snapshot(
        {"k1": PLANE, "k2": BUSY}, build_nodes(build_node("k1"), build_node("k2")), LATE, unreached_hosts=("k3",)
    )
    return judge_removal(snapshot, ["k2", "k3"])


def make_empty_preview() -> Removal:
    return judge_removal(build_snapshot(unreached_hosts=("k3",)), ())


def make_good_reset() -> ResetOutcome:
    run = PlaybookRun("reset", ("k1", "k2"), ("k1", "k2"), (), (), 41.0, COMMAND, 23)
    return ResetOutcome(
        judge_removal(build_snapshot({"k1": PLANE, "k2": BUSY}), ()), run, judge_removal(build_snapshot(), ()), 44.0
    )


def make_partial_reset() -> ResetOutcome:
    failure = TaskFailure("k2", "Ensure no pod is in the network", "roles/flannel/tasks/reset.yml:1", "busy")
    run = PlaybookRun("reset", ("k1", "k2"), ("k1", "k2"), ("k2",), (failure,), 41.0, COMMAND, 20)
    after = build_snapshot({"k2": LINK})
    return ResetOutcome(
        judge_removal(build_snapshot({"k1": PLANE, "k2": BUSY}), ()), run, judge_removal(after, ()), 44.0
    )

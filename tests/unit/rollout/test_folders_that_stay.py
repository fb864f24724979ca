"""Folders of gpustack in which other people have files."""

import json

from gpustack.rollout.removal import judge_removal
from tests.worlds.snapshots.reset_hosts import build_snapshot


def test_a_folder_of_gpustack_with_files_of_others_is_not_left_to_remove() -> None:
    """A reset leaves it, and the next one would find it again, for ever."""
    record = {"path": "/etc/kubernetes/pki", "kind": "folder", "before": "absent", "after": "present", "now": "present"}
    lines = [{"cluster": ""}, record | dict.fromkeys(("cluster", "run", "at"), "")]
    answer = "".join(f"{json.dumps(line)}\n" for line in lines)
    world = {"owned.records": answer, "owned.control-plane": "file /etc/kubernetes/pki\n"}
    (three,) = judge_removal(build_snapshot({"k3": world}), ["k3"]).hosts
    assert (three.traces, three.due) == ((), False)
    assert [line for line in three.kept_resources if line.startswith("/etc/kubernetes/pki: ")]

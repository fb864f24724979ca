"""The role of a step removes what the step puts on a host, in the reverse order, and asks for what it removes."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.probes.host.owned_resources import FILES, RESOURCE_PROBES
from gpustack.rollout.removal import PROBES
from gpustack.steps import STEPS

ROLES = locate_playbooks() / "roles"
# Roles without a reset of their own, and why.
OBJECTS = "what it makes are objects of the cluster, and go with it"
UNCHECKED_PATHS = {
    "taint": "it takes a taint from a node, and the node goes with the cluster",
    "node-labels": "labels and taints of a node go with it",
    "monitoring": OBJECTS,
    "gpu-sharing": OBJECTS,
    "gpu-plugin": OBJECTS,
    "gpu-metrics": OBJECTS,
    "dashboards": OBJECTS,
    "alerts": OBJECTS,
    "serve": OBJECTS,
    "autoscaling": OBJECTS,
    "care": OBJECTS,
}
# Pods are ended by what other steps brought, so that comes before all.
FIRST = "workers"
UNDONE = [FIRST, *(step.id for step in reversed(STEPS) if step.id not in {*UNCHECKED_PATHS, FIRST})]
STANDALONE = {"standalone-care", "standalone-monitoring", "standalone-exporters"}
every_undone = pytest.mark.parametrize("step", UNDONE)


def locate_role(step: str) -> Path:
    return ROLES / step.replace("-", "_")


def read_plays() -> list[dict[str, Any]]:
    plays: list[dict[str, Any]] = yaml.safe_load((locate_playbooks() / "reset.yml").read_text())
    return plays


def test_every_step_has_a_reset_or_a_reason() -> None:
    lacking = [step.id for step in STEPS if not (locate_role(step.id) / "tasks" / "reset.yml").is_file()]
    assert lacking == list(UNCHECKED_PATHS)


def test_steps_are_undone_in_reverse_order_on_workers_then_on_the_control_plane() -> None:
    workers, planes, standalone = read_plays()
    assert (workers["hosts"], planes["hosts"]) == ("kube_node:!kube_control_plane", "kube_control_plane")
    for play in (workers, planes):
        (task,) = play["tasks"]
        assert task["ansible.builtin.include_role"] == {"name": "{{ item }}", "tasks_from": "reset"}
        assert task["loop"] == [step.replace("-", "_") for step in UNDONE if step not in STANDALONE]
    assert standalone["hosts"] == "gpu_standalone"
    (task,) = standalone["tasks"]
    assert task["loop"] == [step.replace("-", "_") for step in UNDONE if step in {*STANDALONE, "gpu-driver", "prereqs"}]


def test_every_undone_step_has_its_questions_in_the_same_order() -> None:
    assert list(RESOURCE_PROBES) == UNDONE
    assert [probe.id for probe in RESOURCE_PROBES.values()] == [f"owned.{step}" for step in UNDONE]
    assert {probe.id for probe in RESOURCE_PROBES.values()} <= {probe.id for probe in PROBES}


@every_undone
def test_arguments_of_the_reset_are_declared(step: str) -> None:
    specs = yaml.safe_load((locate_role(step) / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    assert specs["reset"]["short_description"]
    assert all(option["required"] is True for option in specs["reset"]["options"].values())


def read_reset(step: str) -> str:
    """Read what the reset of a step runs. The tests below list the names that a loop puts together."""
    files = [
        locate_role(step) / "tasks" / "reset.yml",
        *locate_role(step).glob("files/reset*"),
        *locate_role(step).glob("templates/reset*"),
    ]
    return "\n".join(path.read_text() for path in files)


@every_undone
def test_what_is_asked_for_is_what_is_removed(step: str) -> None:
    """A file that counts as ours is named where it is removed, whole or by its last part."""
    output = read_reset(step)
    put_together = {".conf", ".sources", ".gpg", ".pref"}
    assert [path for path in FILES[step] if "/apt/" in path and str(Path(path).parent) not in output] == []
    unnamed_paths = [
        path
        for path in FILES[step]
        if path not in output
        and Path(path).name not in output
        and not (Path(path).suffix in put_together and Path(path).stem.removeprefix("gpustack-") in output)
        and Path(path).stem not in output
    ]
    assert unnamed_paths == []


def test_containerd_s_folder_of_networks_is_never_removed() -> None:
    """containerd 2.3 ends when it goes."""
    for step in UNDONE:
        lines = [line for line in read_reset(step).splitlines() if "/etc/cni" in line]
        assert [line for line in lines if "/etc/cni/net.d/10-flannel.conflist" not in line] == []


def test_no_reset_flushes_rules_or_removes_by_pattern_of_others() -> None:
    scripts = [*map(read_reset, UNDONE), *(path.read_text() for path in (locate_playbooks() / "files").glob("*.sh"))]
    for output in scripts:
        for word in ("flush ruleset", "iptables -F", "--flush", "netfilter-persistent flush", "autoremove"):
            assert word not in output


def test_nothing_is_removed_recursively_across_mounts() -> None:
    """Folders that the same script made with mktemp a moment ago are the exception. remove-agreed.sh looks for
    mounts."""
    for path in [
        *locate_playbooks().rglob("*.sh"),
        *locate_playbooks().rglob("*.yml"),
        *locate_playbooks().rglob("*.j2"),
    ]:
        script = path.read_text()
        made_folders = set(re.findall(r"(\w+)=\$\(mktemp -d", script))
        for words in re.findall(r"\brm ((?:-\w*[rR]|--recursive\b|--?[\w-]+ +(?:-\w*[rR]|--recursive\b)).*)", script):
            own_trap = re.fullmatch(r"-rf \"\$(\w+)\"'? EXIT", words)
            assert "--one-file-system" in words or (own_trap and own_trap[1] in made_folders), f"{path}: rm {words}"


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", ["pods", "a b"])
def test_what_has_a_mount_below_it_stays_whole(tmp_path: Path, name: str, linked: bool) -> None:
    """The kubelet's folder may be a link to a larger disk: the table of mounts has the real path then."""
    real = tmp_path / ("disk" if linked else "kubelet")
    for folder in (real / name / "volume", tmp_path / "other"):
        folder.mkdir(parents=True)
        (folder / "data").write_text("kept")
    if linked:
        (tmp_path / "kubelet").symlink_to(real)
    mounted_path = str(real / name / "volume").replace(" ", "\\040")
    (tmp_path / "mounts").write_text(f"tmpfs / tmpfs rw 0 0\nserver:/x {mounted_path} nfs rw 0 0\n")
    script = (
        (locate_playbooks() / "files" / "remove-agreed.sh")
        .read_text()
        .replace("/proc/mounts", str(tmp_path / "mounts"))
    )
    script += 'is_agreed() { [ "$1" = remove ]; }\n'
    script += f'drop "{tmp_path}/other"\ndrop "{tmp_path}/kubelet/{name}"\necho went on\n'
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stdout) == (1, f"changed: removed {tmp_path}/other\n"), process.stderr
    assert str(real / name / "volume") in process.stderr
    assert (real / name / "volume" / "data").read_text() == "kept"


def test_mounts_are_looked_for_before_anything_is_removed() -> None:
    script = (locate_role("control-plane") / "files" / "reset.sh").read_text()
    (line,) = re.findall(r"^ *refuse_mounts (.+)$", script, re.MULTILINE)
    assert {"/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd/member", "/var/lib/cni"} <= set(line.split())
    before = script.partition("\n  refuse_mounts ")[0]
    assert not re.search(r"\b(rm|drop|mv)\b|kubeadm reset", before)

"""The roles gpu_metrics and gpu_sharing change a cluster through a kubectl that is put before the real one."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.resources import locate_playbooks
from gpustack.steps.gpu import metrics_objects as gpu_metrics_objects
from gpustack.steps.gpu import sharing as gpu_sharing
from gpustack.steps.gpu.metrics_objects import MONITOR_NAME
from gpustack.steps.gpu.operator import OPERANDS
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import build_snapshot, read_answers, set_gpus

ROLES = locate_playbooks() / "roles"
LIMITS = (locate_playbooks() / "files" / "limits.sh").read_text()
APPLY = LIMITS + (locate_playbooks() / "files" / "apply.sh").read_text()
MONITOR = f"{APPLY}\n{(ROLES / 'gpu_metrics' / 'files' / 'monitor.sh').read_text()}"
LABELS = LIMITS + (locate_playbooks() / "files" / "node-labels.sh").read_text()
# Objects are files: nodes/NODE/LABEL, monitors/NAME. `applied` is what the cluster has of a stream that is applied.
KUBECTL = r"""#!/bin/sh
[ "$KUBECONFIG" = /etc/kubernetes/admin.conf ] || exit 9
echo "$*" >>"$WORLD/asked"
[ ! -e "$WORLD/silent" ] || { echo 'Unable to connect to the server' >&2; exit 1; }
[ "$1" != -n ] || shift 2
file=
for word; do file=$word; done
case "$1 $2" in
  'get node')
    [ -d "$WORLD/nodes/$3" ] || { echo "nodes \"$3\" not found" >&2; exit 1; }
    key=$(printf %s "$5" | sed 's/^jsonpath={.metadata.labels\.//; s/}$//')
    case $(printf %s "$key" | sed 's/\\\.//g') in *.*) exit 0 ;; esac  # a bare dot leads into a label: nothing is there
    key=$(printf %s "$key" | sed 's/\\\././g; s,/,_,g')
    cat "$WORLD/nodes/$3/$key" 2>/dev/null || : ;;
  'label node')
    node=$3
    case $file in
      *-) rm "$WORLD/nodes/$node/$(printf %s "${file%-}" | sed 's,/,_,g')" ;;
      *) printf %s "${file#*=}" >"$WORLD/nodes/$node/$(printf %s "${file%%=*}" | sed 's,/,_,g')" ;;
    esac ;;
  'get servicemonitors'*) ls "$WORLD/monitors" | tr '\n' ' ' ;;
  'delete servicemonitors'*)
    [ ! -e "$WORLD/foreign" ] || { echo 'No resources found'; exit 0; }
    rm "$WORLD/monitors/${6#metadata.name=}"; echo "servicemonitor/${6#metadata.name=}" ;;
  'get --ignore-not-found') ;;
  'rollout restart') ;;
  'diff --server-side') cmp -s - "$WORLD/applied" ;;
  'apply --server-side')
    [ ! -e "$WORLD/refused" ] || { echo 'the server says no' >&2; exit 1; }
    cat >"$WORLD/applied"; echo 'configmap/x serverside-applied' ;;
  *) echo "what is $*?" >&2; exit 9 ;;
esac
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    for folder in ("bin", "monitors", "nodes/k1", "nodes/k2", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bin" / "kubectl").write_text(KUBECTL)
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    return tmp_path


def run(cluster: Path, script: str, text: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    given_variables = {"WORLD": str(cluster), "TMPDIR": str(cluster / "tmp"), "NAMESPACE": "gpu-operator"}
    env = given_variables | variables | {"PATH": f"{cluster}/bin:{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "-c", script], input=text, capture_output=True, text=True, env=env, check=False, timeout=60
    )


def read_calls(cluster: Path, *verbs: str) -> list[str]:
    path = cluster / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if any(f" {verb} " in f" {line} " for verb in verbs)]


CHANGES = ("apply", "delete", "label", "rollout")
LINES = "k1 nvidia.com/device-plugin.config time-slicing-4\nk2 nvidia.com/device-plugin.config -\n"
LABEL = "nvidia.com_device-plugin.config"


def test_labels_are_set_once(cluster: Path) -> None:
    assert run(cluster, LABELS, LINES).stdout == "changed: k1 nvidia.com/device-plugin.config=time-slicing-4\n"
    assert (cluster / "nodes" / "k1" / LABEL).read_text() == "time-slicing-4"
    process = run(cluster, LABELS, LINES)
    assert (process.returncode, process.stdout) == (0, "")
    assert len(read_calls(cluster, *CHANGES)) == 1


def test_labels_are_changed_and_taken_away(cluster: Path) -> None:
    (cluster / "nodes" / "k1" / LABEL).write_text("mps-2")
    (cluster / "nodes" / "k2" / LABEL).write_text("mps-2")
    assert run(cluster, LABELS, LINES).stdout == (
        "changed: k1 nvidia.com/device-plugin.config=time-slicing-4\nchanged: k2 nvidia.com/device-plugin.config=none\n"
    )
    assert not (cluster / "nodes" / "k2" / LABEL).exists()


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_no_line_is_nothing_to_do(cluster: Path, text: str) -> None:
    process = run(cluster, LABELS, text)
    assert (process.returncode, process.stdout, read_calls(cluster, "get", *CHANGES)) == (0, "", [])


def test_a_node_that_is_gone_ends_it(cluster: Path) -> None:
    process = run(cluster, LABELS, f"k9 nvidia.com/mig.config all-1g.10gb\n{LINES}")
    assert process.returncode != 0
    assert 'nodes "k9" not found' in process.stderr
    assert read_calls(cluster, *CHANGES) == []


def test_an_api_that_is_silent_is_no_missing_label(cluster: Path) -> None:
    (cluster / "silent").touch()
    assert run(cluster, LABELS, LINES).returncode != 0
    assert read_calls(cluster, *CHANGES) == []


def test_the_lines_of_the_step_become_its_labels(cluster: Path) -> None:
    """The check of the step finds then what its lines say."""
    hosts = (set_gpus(K1, gpustack_sharing="time-slicing:4"), set_gpus(K2, gpustack_mig="all-1g.10gb"))
    lines = gpu_sharing.build_variables(View(build_snapshot(read_answers("gpu.nodes"), hosts=hosts), CLUSTER))["labels"]
    assert run(cluster, LABELS, "\n".join(lines) + "\n").returncode == 0
    files = {str(path.relative_to(cluster / "nodes")): path.read_text() for path in cluster.glob("nodes/*/*")}
    assert files == {f"k1/{LABEL}": "time-slicing-4", "k2/nvidia.com_mig.config": "all-1g.10gb"}


def stream(**metrics: str) -> str:
    spec = {"gpu": {"metrics": metrics}}
    objects = gpu_metrics_objects.build_variables(View(build_snapshot(spec=spec), CLUSTER))["objects"]
    return "\n---\n".join(json.dumps(manifest) for manifest in objects)


def test_the_operator_s_monitor_is_left_to_the_operator(cluster: Path) -> None:
    (cluster / "monitors" / OPERANDS[-1]).touch()
    assert run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1]).stdout == "changed: configmap/x serverside-applied\n"
    process = run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1])
    assert (process.returncode, process.stdout) == (0, "")
    assert [line.split()[0] for line in read_calls(cluster, *CHANGES)] == ["apply"]
    assert list((cluster / "tmp").iterdir()) == []


def test_ours_goes_where_the_operator_has_its_own(cluster: Path) -> None:
    for name in (OPERANDS[-1], MONITOR_NAME):
        (cluster / "monitors" / name).touch()
    assert (
        f"changed: removed gpu-operator/servicemonitor/{MONITOR_NAME}\n"
        in run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1]).stdout
    )
    assert [path.name for path in (cluster / "monitors").iterdir()] == [OPERANDS[-1]]
    assert read_calls(cluster, "rollout") == []


def test_one_of_our_name_from_others_stays_and_is_named(cluster: Path) -> None:
    for name in (OPERANDS[-1], MONITOR_NAME):
        (cluster / "monitors" / name).touch()
    (cluster / "foreign").touch()
    process = run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1])
    assert process.returncode == 1
    assert process.stderr.startswith(f"ServiceMonitor gpu-operator/{MONITOR_NAME} is not from gpustack")
    assert (cluster / "monitors" / MONITOR_NAME).exists()


def test_an_operator_that_was_there_first_is_made_to_look_again(cluster: Path) -> None:
    (cluster / "monitors" / f"{OPERANDS[-1]}-of-others").touch()
    process = run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1])
    assert "changed: the operator was made to look again\n" in process.stdout
    assert read_calls(cluster, "rollout") == ["-n gpu-operator rollout restart deployment gpu-operator"]


def test_ours_is_applied_and_the_operator_left_alone(cluster: Path) -> None:
    process = run(cluster, MONITOR, stream(service_monitor="ours"), MONITOR=MONITOR_NAME)
    assert (process.returncode, process.stdout) == (0, "changed: configmap/x serverside-applied\n")
    assert '"kind": "ServiceMonitor"' in (cluster / "applied").read_text()
    assert read_calls(cluster, "rollout", "delete") == []


def test_a_refusal_is_reported_and_ends_it(cluster: Path) -> None:
    (cluster / "refused").touch()
    process = run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1])
    assert process.returncode != 0
    assert process.stderr == "the server says no\n"
    assert read_calls(cluster, "rollout") == []
    assert list((cluster / "tmp").iterdir()) == []


def test_an_api_that_is_silent_restarts_nobody(cluster: Path) -> None:
    """The API does not tell whether the operator has its monitor."""
    broken_off = KUBECTL.replace("'get servicemonitors'*)", "'get servicemonitors'*) exit 1 ;; 'never'*)")
    (cluster / "bin" / "kubectl").write_text(broken_off)
    assert run(cluster, MONITOR, stream(), MONITOR=OPERANDS[-1]).returncode != 0
    assert read_calls(cluster, "rollout", "delete") == []


def test_names_are_those_of_the_step() -> None:
    assert f"OPERATORS={OPERANDS[-1]} OWN_MONITOR={MONITOR_NAME}\n" in MONITOR

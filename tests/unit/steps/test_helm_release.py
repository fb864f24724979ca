"""helm-release.sh with a kubectl and a Helm that are put before it: what it asks of them, and what it refuses."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gpustack.config.resources import locate_playbooks

FILES = locate_playbooks() / "files"
PARTS = ("limits.sh", "fetch.sh", "pinned.sh", "namespace.sh", "definitions.sh", "helm-release.sh")
SCRIPT = "\n".join((FILES / name).read_text() for name in PARTS)
CHART = "chart"
# Answers with the files of $WORLD: `phase` and `level` of the namespace, `releases` as lines of NAME STATUS DIGEST
# REVISION VERSION.
KUBECTL = r"""#!/bin/sh
echo "kubectl $*" >>"$WORLD/asked"
case " $* " in
  *" get namespace "*) [ ! -e "$WORLD/phase" ] || echo "$(cat "$WORLD/phase") $(cat "$WORLD/level" 2>/dev/null)" ;;
  *" create -f - "*) cat >"$WORLD/namespace"; printf Active >"$WORLD/phase" ;;
  *"label namespace"*) printf privileged >"$WORLD/level" ;;
  *"create --dry-run"*) echo "a.example others -" ;;
  *" get --ignore-not-found "*) ;;
  *labels.status*) cat "$WORLD/releases" ;;
  *status=deployed*) awk '$2 == "deployed" { print $3, $4, $5 }' "$WORLD/releases" ;;
  *metadata.labels.version*) awk '{ print $5 }' "$WORLD/releases" ;;
  *"delete secret"*) sed -i '$d' "$WORLD/releases" ;;
  *diff*field-manager=gpustack-look*) cat >/dev/null; [ ! -e "$WORLD/drifted" ] ;;
  *diff*field-manager=gpustack*) [ -e "$WORLD/defined" ] ;;
  *apply*) : >"$WORLD/defined"; echo "a.example serverside-applied" ;;
esac
exit
"""
HELM = r"""#!/bin/sh
echo "helm $*" >>"$WORLD/asked"
: >"$HELM_CACHE_HOME/cache" && : >"$HELM_CONFIG_HOME/repositories.yaml" && : >"$HELM_DATA_HOME/plugins"
case $1 in
  show) [ -e "$WORLD/crds" ] && echo "kind: CustomResourceDefinition" || echo "# none" ;;
  get) echo "kind: Service" ;;
  upgrade)
    while [ $# -gt 0 ]; do [ "$1" != --values ] || cp "$2" "$WORLD/values"; shift; done
    [ ! -e "$WORLD/refused" ] || { cat "$WORLD/refused" >&2; exit 1; }
    ;;
esac
exit 0
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A world where the chart lies already, the namespace is there, and nothing was released."""
    for name, text in {"kubectl": KUBECTL, "helm": HELM, "pgrep": '#!/bin/sh\n[ -e "$WORLD/runs" ]\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name, text in {"phase": "Active", "level": "privileged", "releases": "", "charts/c-1.tgz": CHART}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(world: Path, script: str = SCRIPT, **variables: str) -> "subprocess.CompletedProcess[str]":
    script = script.replace("/usr/local/lib/gpustack/helm", f"{world}/helm")
    script = script.replace("/var/lib/gpustack-cluster/charts", f"{world}/charts")
    given_variables = {
        "NAME": "monitoring", "NAMESPACE": "space", "VERSION": "1", "URL": "http://m/c-1.tgz", "DIGEST": "d" * 40,
        "SHA256": hashlib.sha256(CHART.encode()).hexdigest(), "PRIVILEGED": "yes", "MIRROR": "", "KEYRING": "/k",
        "VALUE_LABELS": "values.gpustack.io/a=6b86 values.gpustack.io/b.c=x",
    }  # fmt: skip
    env = given_variables | variables | {"WORLD": str(world), "PATH": f"{world}:{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", "-c", script], input='{"a":"$b"}', capture_output=True, text=True, env=env, check=False, timeout=60
    )


def find_calls(world: Path, *words: str) -> list[str]:
    """Find the lines with all of these words."""
    path = world / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if all(word in line for word in words)]


def write_releases(world: Path, *lines: str) -> None:
    (world / "releases").write_text("".join(f"{line}\n" for line in lines))


def test_a_missing_release_is_installed(world: Path) -> None:
    process = run(world)
    assert (process.returncode, process.stdout) == (0, "changed: release monitoring\n")
    assert (world / "values").read_text() == '{"a":"$b"}'
    (line,) = find_calls(world, "helm upgrade")
    labels = "values.gpustack.io/a=6b86.1,values.gpustack.io/b.c=x.1"
    assert f"--labels gpustack-chart=1,gpustack-digest={'d' * 40},gpustack-revision=1,{labels} " in line
    assert "--reset-values" in line
    assert [path.name for path in (world / "charts").iterdir()] == ["c-1.tgz"], "Helm keeps nothing there"
    assert "--namespace space" in line


def test_an_unchanged_release_is_left_alone(world: Path) -> None:
    write_releases(world, f"sh.helm.release.v1.monitoring.v1 deployed {'d' * 40} 1 1")
    assert (run(world).stdout, find_calls(world, "helm upgrade")) == ("", [])


@pytest.mark.parametrize("difference", ["digest", "objects"])
def test_another_digest_or_drifted_objects_upgrade_the_release(world: Path, difference: str) -> None:
    write_releases(
        world, f"sh.helm.release.v1.monitoring.v1 deployed {('e' if difference == 'digest' else 'd') * 40} 1 1"
    )
    if difference == "objects":
        (world / "drifted").touch()
    assert run(world).stdout == "changed: release monitoring\n"


def test_a_revision_of_another_helm_is_upgraded(world: Path) -> None:
    old, new = (
        f"sh.helm.release.v1.monitoring.v{n} {s} {'d' * 40} 9 {n}" for n, s in ((9, "superseded"), (10, "deployed"))
    )
    write_releases(world, old, new)
    assert run(world).stdout == "changed: release monitoring\n"
    assert "gpustack-revision=11,values.gpustack.io/a=6b86.11," in find_calls(world, "helm upgrade")[0]


def test_a_release_without_values_has_the_other_labels(world: Path) -> None:
    assert run(world, VALUE_LABELS="").returncode == 0
    assert ",gpustack-revision=1 --description" in find_calls(world, "helm upgrade")[0]


def test_a_namespace_is_created_with_its_level(world: Path) -> None:
    (world / "phase").unlink()
    assert run(world).stdout.splitlines() == ["changed: namespace space", "changed: release monitoring"]
    assert yaml.safe_load((world / "namespace").read_text()) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "space",
            "labels": {
                "app.kubernetes.io/managed-by": "gpustack",
                "pod-security.kubernetes.io/enforce": "privileged",
            },
        },
    }
    (world / "phase").unlink()
    run(world, PRIVILEGED="no")
    assert "enforce" not in (world / "namespace").read_text()


def test_a_namespace_without_a_level_gets_one_where_pods_need_it(world: Path) -> None:
    (world / "level").unlink()
    run(world, PRIVILEGED="no")
    assert not (world / "level").exists()
    assert run(world).stdout.splitlines()[0] == "changed: pods of namespace space may be privileged"
    assert find_calls(world, "label namespace", "--overwrite") == []


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_level_that_somebody_set_stays_and_ends_the_run(world: Path, level: str) -> None:
    (world / "level").write_text(level)
    process = run(world)
    assert (process.returncode, process.stdout, (world / "level").read_text()) == (1, "", level)
    assert process.stderr.startswith(f"namespace space enforces the Pod Security level {level}, ")
    assert process.stderr.endswith("(gpustack explain namespace-restricted)\n")
    assert find_calls(world, "kubectl label") == find_calls(world, "helm") == []
    assert run(world, PRIVILEGED="no").returncode == 0


def test_a_namespace_that_is_being_deleted_ends_the_run(world: Path) -> None:
    (world / "phase").write_text("Terminating")
    process = run(world)
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.startswith("namespace space is being deleted")
    assert process.stderr.endswith("(gpustack explain namespace-terminating)\n")
    assert find_calls(world, "helm") == []


def test_definitions_are_applied_on_the_server_before_the_release(world: Path) -> None:
    (world / "crds").touch()
    assert run(world).stdout.splitlines() == ["changed: a.example serverside-applied", "changed: release monitoring"]
    (line,) = find_calls(world, "kubectl apply")
    assert "--server-side --field-manager=gpustack" in line
    assert find_calls(world, "kubectl wait", "condition=Established")
    order = [line.split()[1] for line in find_calls(world) if line.startswith(("kubectl apply", "helm upgrade"))]
    assert order == ["apply", "upgrade"]
    assert run(world).stdout.splitlines() == ["changed: release monitoring"]


def test_a_chart_without_definitions_applies_none(world: Path) -> None:
    run(world)
    assert find_calls(world, "kubectl apply") == []


PENDING = f"sh.helm.release.v1.monitoring.v2 pending-upgrade {'c' * 40}"
OWN_RELEASE = f"{PENDING} 2 2"


def test_what_a_killed_helm_of_ours_left_pending_is_forgotten(world: Path) -> None:
    write_releases(world, f"sh.helm.release.v1.monitoring.v1 deployed {'c' * 40} 1 1", OWN_RELEASE)
    assert run(world).stdout.splitlines() == [
        "changed: revision v2 of monitoring, which was interrupted, is deleted",
        "changed: release monitoring",
    ]
    assert find_calls(world, "delete secret sh.helm.release.v1.monitoring.v2")


@pytest.mark.parametrize(
    ("line", "runs", "text"),
    [
        (OWN_RELEASE, True, "is being changed right now, by an installation that goes on"),
        (PENDING.rpartition(" ")[0], False, "is pending-upgrade, by a Helm that is not ours"),
        (f"{PENDING.rpartition(' ')[0]} 2", False, "is pending-upgrade, by a Helm that is not ours"),
        (f"{PENDING} 2", False, "is pending-upgrade, by a Helm that is not ours"),
        # Helm gives the labels of our revision to the one that a person makes.
        (f"{PENDING} 1 2", False, "is pending-upgrade, by a Helm that is not ours"),
    ],
)
def test_what_is_pending_by_others_is_left_alone(world: Path, line: str, runs: bool, text: str) -> None:
    write_releases(world, line)
    if runs:
        (world / "runs").touch()
    process = run(world)
    assert (process.returncode, process.stdout) == (1, "")
    assert text in process.stderr
    assert process.stderr.endswith("(gpustack explain release-pending)\n")
    assert find_calls(world, "delete") == find_calls(world, "helm upgrade") == []


def test_why_helm_refuses_is_reported_without_its_warnings(world: Path) -> None:
    (world / "refused").write_text("WARNING: old\nError: nothing works\n")
    process = run(world)
    assert (process.returncode, process.stdout, process.stderr) == (1, "", "Error: nothing works\n")


def test_a_chart_of_another_checksum_goes_no_further(world: Path) -> None:
    curl = '#!/bin/sh\ncat >/dev/null\nwhile [ $# -gt 1 ]; do [ "$1" != -o ] || echo evil >"$2"; shift; done\n'
    (world / "curl").write_text(curl)
    (world / "curl").chmod(0o755)
    process = run(world, SHA256="0" * 64)
    assert (process.returncode, process.stdout) == (1, "")
    assert "gpustack explain wrong-checksum" in process.stderr
    assert find_calls(world) == []


def test_a_limit_that_strikes_is_reported(world: Path) -> None:
    """timeout(1) ends a slow kubectl with 124, and without a word. Here its minute is a second."""
    slow = '#!/bin/sh\n[ "$1" != apply ] || sleep 5\n'
    (world / "kubectl").write_text((world / "kubectl").read_text().replace("#!/bin/sh\n", slow, 1))
    (world / "crds").touch()
    process = run(world, SCRIPT.replace("run_limited 60 kubectl", "run_limited 1 kubectl"))
    assert process.returncode == 124
    assert re.search("^ended after its limit of 1 s on .*: kubectl apply ", process.stderr, re.MULTILINE)
    assert find_calls(world, "helm upgrade") == []

"""Faults made on purpose are resolved by `doctor --fix`, nothing else on the hosts is another afterwards, and `--undo`
brings the fault back as it was. The tests share one lab, which each leaves healthy.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab import lab
from gpustack_lab.lab.faults import inject
from tests.lab import witness
from tests.lab.belongings import ANYHOW, differences, outline
from tests.lab.conftest import Run
from tests.lab.firewalls import root
from tests.lab.monitored import kubectl

pytestmark = [pytest.mark.lab, pytest.mark.slow]
HOSTS = ("host1", "host2")
FIXES = r"(folder|file|[df]) /var/lib/gpustack-cluster(/|$)"
# Ansible's own copy, beside the file.
COPIES = r"file \S+\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~ "
CRI = "/etc/containerd/conf.d/00-docker.toml"
SELECTOR = (
    "-n",
    "monitoring",
    "get",
    "prometheus",
    "monitoring-prometheus",
    "-o",
    "jsonpath={.spec.serviceMonitorSelector}",
)
SELECTED = "mon-selector-nil-uses-helm-values"
# Sets the selector back as long as it runs, so that no fix helps.
STUBBORN = """systemd-run --quiet --unit=stubborn sh -c 'while sleep 1; do
  kubectl --kubeconfig /etc/kubernetes/admin.conf -n monitoring patch prometheus monitoring-prometheus --type=merge \\
    --patch "spec: {serviceMonitorSelector: {matchLabels: {release: monitoring}}}" >/dev/null
done'"""
# The work of other people: before the fix, and while it is at work.
TEAM = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl create namespace team-a
kubectl -n team-a create deployment web --image=registry.k8s.io/pause:1 --replicas=0
kubectl -n team-a create configmap old --from-literal=a=1
printf 'old\n' >/etc/app.conf"""
MEANWHILE = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl -n team-a set image deployment/web pause=registry.k8s.io/pause:2
kubectl -n team-a delete configmap old
kubectl -n team-a create configmap settings --from-literal=a=2
kubectl -n team-a create serviceaccount ci
kubectl -n team-a create service clusterip api --tcp=80
kubectl -n monitoring create configmap dashboard-of-team-a --from-literal=a.json='{}'
printf '0 3 * * * root true\n' >/etc/cron.d/nightly-backup
chmod 640 /etc/cron.d/nightly-backup
printf 'new\n' >/etc/app.conf"""
THEIRS = r"""export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get deployments,configmaps,serviceaccounts,services -n team-a -o go-template='{{range .items}}{{.kind}}
 {{.metadata.name}} {{.metadata.uid}} {{.metadata.generation}} {{.spec}} {{.data}}{{"\n"}}{{end}}'
kubectl -n monitoring get configmap dashboard-of-team-a -o 'jsonpath={.metadata.uid} {.data}'
stat -c '%n %a %u %g %Y' /etc/cron.d/nightly-backup /etc/app.conf; cat /etc/cron.d/nightly-backup /etc/app.conf"""
LEAVE = """export KUBECONFIG=/etc/kubernetes/admin.conf
systemctl stop stubborn
kubectl delete namespace team-a --ignore-not-found
kubectl -n monitoring delete configmap dashboard-of-team-a --ignore-not-found
rm -f /etc/cron.d/nightly-backup /etc/app.conf"""
# Fault or fault/way, the words of agreement, and what of the host is the fix's own (the copies apart).
SAFE = [
    ("host-ip-forward-off/live", ("--yes",), {}),
    (
        "host-ip-forward-off/overridden",
        ("--yes",),
        {r"file /etc/sysctl\.d/zzz-gpustack\.conf ": "outlives the next boot"},
    ),
    ("containerd-cri-disabled", ("--yes",), {rf"file {CRI} ": "the file that turned it off", COPIES: "Ansible's copy"}),
    ("mon-selector-nil-uses-helm-values", ("--yes",), {}),
    (
        "host-ufw-blocks-pods",
        ("--yes-to", "host-ufw-blocks-pods"),
        {r"file /etc/ufw/": "rules", r"ip6?tables .*(ufw|gpustack)": "rules", r"file .*gpustack-firewall": "rules"},
    ),
]


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    made = make_lab("fix", ["debian-12", "debian-13"], monitored=True, gpus="1")
    gpustack("install", "-i", made.inventory, "--yes", "-q", limit=2400)
    healthy(made, gpustack)
    return made


@pytest.fixture
def recovered(two: lab.Lab, gpustack: Run) -> Iterator[lab.Lab]:
    yield two
    inject.undo_faults(two)
    healthy(two, gpustack)
    for host in HOSTS:
        root(two, host, "rm -rf /var/lib/gpustack-cluster/fixes /etc/sysctl.d/zzz-gpustack.conf")


def doctor(made: lab.Lab, gpustack: Run, *words: str, code: int | None = 0) -> Any:
    done = gpustack("doctor", *words, "-i", made.inventory, "-q", "-o", "json", limit=1800, code=code)
    return json.loads(done.stdout) if done.stdout else done.stderr


def healthy(made: lab.Lab, gpustack: Run) -> None:
    witness.until("doctor finds nothing", lambda: doctor(made, gpustack, code=None)["healthy"], limit=600)


def outlines(made: lab.Lab) -> dict[str, set[str]]:
    return {host: outline(made, host) for host in HOSTS}


def selector(made: lab.Lab) -> str:
    return kubectl(made, *SELECTOR)


@pytest.mark.parametrize(("fault", "agreed", "named"), SAFE, ids=[fault for fault, _, _ in SAFE])
def test_fix_resolves_it_changes_nothing_else_and_undo_rolls_back(
    recovered: lab.Lab, gpustack: Run, fault: str, agreed: tuple[str, ...], named: dict[str, str]
) -> None:
    id = fault.partition("/")[0]
    inject.inject_fault(recovered, fault)
    broken, chosen = outlines(recovered), selector(recovered)
    witness.until("doctor names it", lambda: id in roots(doctor(recovered, gpustack, code=None)), limit=300)

    refused = doctor(recovered, gpustack, "--fix", id, code=5)
    assert "fix-declined" in refused
    assert differing(broken, outlines(recovered), {}) == []

    value = doctor(recovered, gpustack, "--fix", id, *agreed, code=None)
    assert [(one["id"], one["outcome"]) for one in value["attempts"]] == [(id, "fixed")], value
    assert value["exit"]["code"] == 0, (value["roots"], value["unexplained_symptom_ids"], value["drift"])
    healthy(recovered, gpustack)
    assert differing(broken, outlines(recovered), named) == []

    undone = doctor(recovered, gpustack, "--undo", "--yes")
    assert undone["fault"] == id
    assert differing(broken, outlines(recovered), {r"ip6?tables ": "who made its chains anew"}) == []
    assert json.loads(selector(recovered) or "{}") == json.loads(chosen or "{}")
    witness.until("doctor names it again", lambda: id in roots(doctor(recovered, gpustack, code=None)), limit=300)


def test_an_undo_refuses_where_somebody_worked_on(recovered: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(recovered, "containerd-cri-disabled")
    doctor(recovered, gpustack, "--fix", "--yes", code=None)
    host = recovered.hosts[-1].name
    root(recovered, host, f"echo '# mine' >>{CRI}")
    refused = doctor(recovered, gpustack, "--undo", "--yes", code=5)
    assert "undo-changed-since" in refused
    assert "# mine" in root(recovered, host, f"cat {CRI}")


@pytest.fixture
def team(recovered: lab.Lab) -> Iterator[lab.Lab]:
    """Other people work in the cluster and on its control plane, and one of them works against the fix."""
    root(recovered, "host1", TEAM)
    yield recovered
    root(recovered, "host1", LEAVE)


def test_a_fix_that_does_not_help_leaves_what_others_do_meanwhile(team: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(team, SELECTED)
    witness.until("doctor names it", lambda: SELECTED in roots(doctor(team, gpustack, code=None)), limit=300)
    root(team, "host1", STUBBORN)
    begun = "ls /var/lib/gpustack-cluster/fixes/*/record 2>/dev/null || :"
    with ThreadPoolExecutor(1) as pool:
        fix = pool.submit(doctor, team, gpustack, "--fix", SELECTED, "--yes", code=None)
        witness.until("the fix has its record", lambda: bool(root(team, "host1", begun).strip()), limit=300)
        root(team, "host1", MEANWHILE)
        theirs = root(team, "host1", THEIRS)
        value = fix.result()
    (attempt,) = value["attempts"]
    assert (attempt["outcome"], value["exit"]["code"]) == ("not-resolved", 6), value
    assert root(team, "host1", THEIRS) == theirs
    # Who patches it all the time has the last word there too.
    assert json.loads(selector(team)) == {"matchLabels": {"release": "monitoring"}}


def test_two_at_once_are_fixed_one_after_the_other(recovered: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    # In this order: on a host that is cut off, what has to show in the cluster would not show.
    for fault in ("mon-selector-nil-uses-helm-values", "host-ip-forward-off"):
        inject.inject_fault(recovered, fault)
    value = doctor(recovered, gpustack, "--fix", "--yes", code=None)
    assert {one["id"] for one in value["attempts"] if one["outcome"] == "fixed"} == {
        "host-ip-forward-off",
        "mon-selector-nil-uses-helm-values",
    }
    healthy(recovered, gpustack)


def test_a_remedy_that_renews_pods(recovered: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(recovered, "flannel-subnet-env-missing")
    value = doctor(recovered, gpustack, "--fix", "--yes", code=None)
    outcomes = [(one["id"], one["outcome"]) for one in value["attempts"]]
    assert outcomes == [("flannel-subnet-env-missing", "fixed")], value
    healthy(recovered, gpustack)


def roots(value: Any) -> list[str]:
    return [one["id"] for one in value["roots"]]


def differing(before: dict[str, set[str]], after: dict[str, set[str]], named: dict[str, str]) -> list[str]:
    """Beside what time alone changes, what containers come and go with, and the copies."""
    passing = {
        r"sysctl ": "doctor's to judge", r"process ": "pods are made anew",
        r"(mount|netns|link|route|unit) ": "of pods",
        r"(unit-file cri-containerd-|l /var/log/(containers|pods)/)": "of containers that come and go",
        r"ip6?tables .*(KUBE-|CNI-|FLANNEL-)": "of Kubernetes",
        r"file /opt/local-path-provisioner/": "data of Prometheus, which goes on writing",
    }  # fmt: skip
    allowed = {**ANYHOW, **passing, FIXES: "the copies", **named}
    return [line for host in HOSTS for line in differences(before[host], after[host], allowed)]

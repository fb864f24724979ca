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
from tests.lab.belongings import ALWAYS_ALLOWED, find_differences, list_outline
from tests.lab.conftest import Run
from tests.lab.firewalls import run_as_root
from tests.lab.monitored import run_kubectl

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
SELECTED_RULES = "mon-selector-nil-uses-helm-values"
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
CHANGE_MEANWHILE = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl -n team-a set image deployment/web pause=registry.k8s.io/pause:2
kubectl -n team-a delete configmap old
kubectl -n team-a create configmap settings --from-literal=a=2
kubectl -n team-a create serviceaccount ci
kubectl -n team-a create service clusterip api --tcp=80
kubectl -n monitoring create configmap dashboard-of-team-a --from-literal=a.json='{}'
printf '0 3 * * * root true\n' >/etc/cron.d/nightly-backup
chmod 640 /etc/cron.d/nightly-backup
printf 'new\n' >/etc/app.conf"""
FOREIGN_CHANGE = r"""export KUBECONFIG=/etc/kubernetes/admin.conf
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
        ("--yes-to", "host-ip-forward-off"),
        {r"file /etc/sysctl\.d/zzz-gpustack\.conf ": "outlives the next boot"},
    ),
    (
        "containerd-cri-disabled",
        ("--yes-to", "containerd-cri-disabled"),
        {rf"file {CRI} ": "the file that turned it off", COPIES: "Ansible's copy"},
    ),
    (SELECTED_RULES, ("--yes-to", SELECTED_RULES), {}),
    (
        "host-ufw-blocks-pods",
        ("--yes-to", "host-ufw-blocks-pods"),
        {
            r"file /etc/ufw/": "rules",
            r"ip6?tables .*(ufw|gpustack)": "rules",
            r"(file|symlink|unit-file) .*gpustack-firewall": "rules",
            r"(file|nft table) .*(firewall-node-ports|gpustack[-_]node[-_]ports)": "NodePorts, which ufw leaves open",
        },
    ),
]


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    lab = make_lab("fix", ["debian-12", "debian-13"], monitored=True, gpus="1")
    gpustack("install", "-i", lab.inventory, "--yes", "-q", limit=2400)
    wait_until_healthy(lab, gpustack)
    return lab


@pytest.fixture
def recovered_hosts(two: lab.Lab, gpustack: Run) -> Iterator[lab.Lab]:
    yield two
    inject.undo_faults(two)
    wait_until_healthy(two, gpustack)
    for host in HOSTS:
        run_as_root(two, host, "rm -rf /var/lib/gpustack-cluster/fixes /etc/sysctl.d/zzz-gpustack.conf")


def run_doctor(running_lab: lab.Lab, gpustack: Run, *words: str, code: int | None = 0) -> Any:
    process = gpustack("doctor", *words, "-i", running_lab.inventory, "-q", "-o", "json", limit=1800, code=code)
    return json.loads(process.stdout)


def wait_until_healthy(running_lab: lab.Lab, gpustack: Run) -> None:
    witness.wait_until(
        "doctor finds nothing", lambda: run_doctor(running_lab, gpustack, code=None)["healthy"], limit=600
    )


def list_outlines(running_lab: lab.Lab) -> dict[str, set[str]]:
    return {host: list_outline(running_lab, host) for host in HOSTS}


def read_selector(running_lab: lab.Lab) -> str:
    return run_kubectl(running_lab, *SELECTOR)


@pytest.mark.parametrize(("fault", "agreements", "expected_differences"), SAFE, ids=[fault for fault, _, _ in SAFE])
def test_fix_resolves_the_fault_alone_and_undo_rolls_back(
    recovered_hosts: lab.Lab,
    gpustack: Run,
    fault: str,
    agreements: tuple[str, ...],
    expected_differences: dict[str, str],
) -> None:
    id = fault.partition("/")[0]
    inject.inject_fault(recovered_hosts, fault)
    broken_state, selector = list_outlines(recovered_hosts), read_selector(recovered_hosts)
    witness.wait_until(
        "doctor names it", lambda: id in list_roots(run_doctor(recovered_hosts, gpustack, code=None)), limit=300
    )

    refusal = run_doctor(recovered_hosts, gpustack, "--fix", id, code=5)
    assert refusal["reference"] == "fix-declined"
    assert find_changes(broken_state, list_outlines(recovered_hosts), {}) == []

    value = run_doctor(recovered_hosts, gpustack, "--fix", id, *agreements, code=None)
    assert [(attempt["id"], attempt["outcome"]) for attempt in value["attempts"]] == [(id, "fixed")], value
    assert value["exit"]["code"] == 0, (value["roots"], value["unexplained_symptom_ids"], value["drift"])
    wait_until_healthy(recovered_hosts, gpustack)
    assert find_changes(broken_state, list_outlines(recovered_hosts), expected_differences) == []

    undone = run_doctor(recovered_hosts, gpustack, "--undo", "--yes")
    assert undone["fault"] == id
    assert (
        find_changes(broken_state, list_outlines(recovered_hosts), {r"ip6?tables ": "who made its chains anew"}) == []
    )
    assert json.loads(read_selector(recovered_hosts) or "{}") == json.loads(selector or "{}")
    witness.wait_until(
        "doctor names it again", lambda: id in list_roots(run_doctor(recovered_hosts, gpustack, code=None)), limit=300
    )


def test_an_undo_refuses_files_that_somebody_changed(recovered_hosts: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(recovered_hosts, "containerd-cri-disabled")
    run_doctor(recovered_hosts, gpustack, "--fix", "--yes-to", "containerd-cri-disabled", code=None)
    host = recovered_hosts.hosts[-1].name
    run_as_root(recovered_hosts, host, f"echo '# mine' >>{CRI}")
    refusal = run_doctor(recovered_hosts, gpustack, "--undo", "--yes", code=5)
    assert refusal["reference"] == "undo-changed-since"
    assert "# mine" in run_as_root(recovered_hosts, host, f"cat {CRI}")


@pytest.fixture
def team(recovered_hosts: lab.Lab) -> Iterator[lab.Lab]:
    """Other people work in the cluster and on its control plane, and one of them works against the fix."""
    run_as_root(recovered_hosts, "host1", TEAM)
    yield recovered_hosts
    run_as_root(recovered_hosts, "host1", LEAVE)


def test_a_fix_that_does_not_help_leaves_what_others_do_meanwhile(team: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(team, SELECTED_RULES)
    witness.wait_until(
        "doctor names it", lambda: SELECTED_RULES in list_roots(run_doctor(team, gpustack, code=None)), limit=300
    )
    run_as_root(team, "host1", STUBBORN)
    list_command = "ls /var/lib/gpustack-cluster/fixes/*/record 2>/dev/null || :"
    with ThreadPoolExecutor(1) as pool:
        fix = pool.submit(run_doctor, team, gpustack, "--fix", SELECTED_RULES, "--yes-to", SELECTED_RULES, code=None)
        witness.wait_until(
            "the fix has its record", lambda: bool(run_as_root(team, "host1", list_command).strip()), limit=300
        )
        run_as_root(team, "host1", CHANGE_MEANWHILE)
        foreign_change = run_as_root(team, "host1", FOREIGN_CHANGE)
        value = fix.result()
    (attempt,) = value["attempts"]
    assert (attempt["outcome"], value["exit"]["code"]) == ("not-resolved", 6), value
    assert run_as_root(team, "host1", FOREIGN_CHANGE) == foreign_change
    # Who patches it all the time has the last word there too.
    assert json.loads(read_selector(team)) == {"matchLabels": {"release": "monitoring"}}


def test_two_at_once_are_fixed_one_after_the_other(recovered_hosts: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    # In this order: on a host that is cut off, what has to show in the cluster would not show.
    for fault in (SELECTED_RULES, "host-ip-forward-off"):
        inject.inject_fault(recovered_hosts, fault)
    value = run_doctor(recovered_hosts, gpustack, "--fix", "--yes", "--yes-to", SELECTED_RULES, code=None)
    assert {attempt["id"] for attempt in value["attempts"] if attempt["outcome"] == "fixed"} == {
        "host-ip-forward-off",
        "mon-selector-nil-uses-helm-values",
    }
    wait_until_healthy(recovered_hosts, gpustack)


def test_a_remedy_renews_pods(recovered_hosts: lab.Lab, gpustack: Run) -> None:
    inject.inject_fault(recovered_hosts, "flannel-subnet-env-missing")
    value = run_doctor(recovered_hosts, gpustack, "--fix", "--yes", code=None)
    outcomes = [(attempt["id"], attempt["outcome"]) for attempt in value["attempts"]]
    assert outcomes == [("flannel-subnet-env-missing", "fixed")], value
    wait_until_healthy(recovered_hosts, gpustack)


def list_roots(value: Any) -> list[str]:
    return [root["id"] for root in value["roots"]]


def find_changes(
    before: dict[str, set[str]], after: dict[str, set[str]], expected_differences: dict[str, str]
) -> list[str]:
    """Find what differs, beside what time alone changes, what containers come and go with, and the copies."""
    passing = {
        r"sysctl ": "doctor's to judge", r"process ": "pods are made anew",
        r"(mount|netns|link|route|unit) ": "of pods",
        r"(unit-file cri-containerd-|l /var/log/(containers|pods)/)": "of containers that come and go",
        r"ip6?tables .*(KUBE-|CNI-|FLANNEL-)": "of Kubernetes",
        r"file /opt/local-path-provisioner/": "data of Prometheus, which goes on writing",
    }  # fmt: skip
    allowed_differences = {**ALWAYS_ALLOWED, **passing, FIXES: "the copies", **expected_differences}
    return [line for host in HOSTS for line in find_differences(before[host], after[host], allowed_differences)]

"""Bare hosts become a proven chain, GPU by GPU: monitoring and simulated GPUs on Debian 12 and 13. The tests of this
file stand in the order of the story."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab.conftest import Run
from tests.lab.monitored import apply, query, query_labels, run_kubectl, set_gpus
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

JOBS = {
    "apiserver", "coredns", "gpu-operator", "kube-controller-manager", "kube-etcd", "kube-proxy", "kube-scheduler",
    "kube-state-metrics", "kubelet", "monitoring-alertmanager", "monitoring-grafana", "monitoring-operator",
    "monitoring-prometheus", "node-exporter", "nvidia-dcgm-exporter",
}  # fmt: skip
LINKS = ("kernel", "series", "dashboard")
LIST_CHANGED_FILES = """find / -xdev -type f -newer /var/tmp/before -not -path '/proc/*' -not -path '/sys/*' \
  -not -path '/run/*' -not -path '/var/log/*' -not -path '/var/lib/containerd/*' -not -path '/var/lib/kubelet/*' \
  -not -path '/var/lib/etcd/*' -not -path '/opt/local-path-provisioner/*'"""


def prove_gpus(two: lab.Lab, gpustack: Run, code: int | None = 0) -> dict[tuple[str, int], dict[str, str]]:
    """Prove the GPUs, and return the outcome by link, by host and index of the GPU."""
    document = json.loads(gpustack("prove", "-i", two.inventory, "-o", "json", code=code, limit=400).stdout)
    assert document["schema"] == "gpustack/proof/v1"
    return {place(two, row): {link["link"]: link["outcome"] for link in row["links"]} for row in document["gpus"]}


def place(two: lab.Lab, row: dict[str, Any]) -> tuple[str, int]:
    """Locate a GPU by the UUID that the lab gave it, not by what the cluster calls it."""
    for host in ("host1", "host2"):
        for index, gpu in enumerate(two.read_gpus(host)):
            if gpu.uuid == row["uuid"]:
                return host, index
    return row["node"], -1


ALL_GPUS = {(host, index) for host in ("host1", "host2") for index in (0, 1)}
ALL_OK = dict.fromkeys(LINKS, "ok")


def test_a_second_install_has_nothing_to_do(two: lab.Lab, gpustack: Run) -> None:
    assert "nothing to do" in gpustack("install", "-i", two.inventory, "--yes").stdout


def test_every_gpu_is_proven(two: lab.Lab, gpustack: Run) -> None:
    assert prove_gpus(two, gpustack) == dict.fromkeys(ALL_GPUS, ALL_OK)
    assert "gpustack-proof" not in run_kubectl(two, "get", "namespaces", "--field-selector", "status.phase=Active")


def test_every_target_is_up_and_no_alert_but_watchdog(two: lab.Lab) -> None:
    """Pending counts as well: what is only not firing yet would fire on every fresh cluster."""
    jobs = wait_until("all jobs are there", lambda: query_labels(two, "up", "job") >= {(job,) for job in JOBS})
    assert jobs
    assert query(two, "up == 0") == []
    try:
        wait_until(
            "no alert is pending", lambda: query_labels(two, "ALERTS", "alertname") == {("Watchdog",)}, limit=300
        )
    finally:
        print("alerts:", query(two, "ALERTS"))


def test_each_gpu_is_scraped_once(two: lab.Lab) -> None:
    uuids = {gpu.uuid for host in ("host1", "host2") for gpu in two.read_gpus(host)}
    assert {uuid for (uuid,) in query_labels(two, "DCGM_FI_DEV_GPU_TEMP", "UUID")} == uuids
    assert query(two, "count by (UUID) (DCGM_FI_DEV_GPU_TEMP) > 1") == []


def test_the_doctor_writes_no_file_on_the_hosts(two: lab.Lab, gpustack: Run) -> None:
    """Logs, and what the cluster itself writes all the time, are left out."""
    for host in ("host1", "host2"):
        two.exec(host, ["sudo", "touch", "/var/tmp/before"])
    gpustack("doctor", "-i", two.inventory)
    for host in ("host1", "host2"):
        changed_files = two.exec(host, ["sudo", "sh", "-c", LIST_CHANGED_FILES]).stdout.splitlines()
        two.exec(host, ["sudo", "rm", "/var/tmp/before"])
        assert changed_files == []


@pytest.mark.parametrize("case", ["swapped", "silent"])
def test_a_broken_link_is_reported_and_no_other(two: lab.Lab, gpustack: Run, case: str) -> None:
    gpu, other_gpu = two.read_gpus("host1")
    values = {
        "swapped": {"host1_0": f"exporter-uuid={other_gpu.uuid}", "host1_1": f"exporter-uuid={gpu.uuid}"},
        "silent": {"host2_1": "exporter-silent=1"},
    }[case]
    with set_gpus(two, **values):
        wait_until(
            "the exporter shows it", lambda: matches_case(two, case, gpu.uuid, two.read_gpus("host2")[1].uuid), limit=90
        )
        links_by_gpu = prove_gpus(two, gpustack, code=1)
    wrong = {"swapped": {("host1", 0), ("host1", 1)}, "silent": {("host2", 1)}}[case]
    assert {place for place, links in links_by_gpu.items() if links["series"] == "failed"} == wrong
    assert all(links["kernel"] == "ok" for links in links_by_gpu.values())
    assert all(links_by_gpu[place] == ALL_OK for place in ALL_GPUS - wrong)


def matches_case(two: lab.Lab, case: str, swapped_uuid: str, silent: str) -> bool:
    if case == "swapped":
        return query_labels(two, f'DCGM_FI_DEV_GPU_TEMP{{UUID="{swapped_uuid}"}}', "gpu") == {("1",)}
    return query(two, f'DCGM_FI_DEV_GPU_TEMP{{UUID="{silent}"}}') == []


def test_a_lost_gpu_fails_its_proof(two: lab.Lab, gpustack: Run) -> None:
    """The device plugin never takes it back by itself: what to do is printed, and resolves it."""
    with set_gpus(two, host2_0="lost"), restart_plugins(two):
        wait_until("one is not allocatable", lambda: count_allocatable(two, "host2") == "1", limit=60)
        # Of all its series: those with the label of a pod that used it have ended before.
        series = f'DCGM_FI_DEV_GPU_TEMP{{UUID="{two.read_gpus("host2")[0].uuid}"}}'
        text = f"max(max_over_time(timestamp({series})[5m:1s]))"
        wait_until("it is out of sight for two scrapes", lambda: query(two, f"time() - {text} > 31"), limit=90)
        links_by_gpu = prove_gpus(two, gpustack, code=1)
        # The real device plugin asks all GPUs which lie near each other, and gives none when one does not answer.
        assert links_by_gpu["host1", 0] == links_by_gpu["host1", 1] == ALL_OK
        assert (links_by_gpu["host2", 0]["kernel"], links_by_gpu["host2", 0]["series"]) == ("failed", "failed")
        assert (links_by_gpu["host2", 1]["kernel"], links_by_gpu["host2", 1]["series"]) == ("failed", "ok")
        output = gpustack("plan", "-i", two.inventory, code=1, COLUMNS="4000").stdout
        assert "host2: 1 of 2 unhealthy" in output
    wait_until("both are", lambda: count_allocatable(two, "host2") == "2", limit=120)


@contextmanager
def restart_plugins(two: lab.Lab) -> Iterator[None]:
    """Restart the plugin at the end, when all GPUs answer again."""
    try:
        yield
    finally:
        two.set_gpu("host2:0", "recover")
        run_kubectl(two, "-n", "gpu-operator", "delete", "pod", "-l", "app=nvidia-device-plugin-daemonset")


def count_allocatable(two: lab.Lab, node: str) -> str:
    return run_kubectl(two, "get", "node", node, "-o", r"jsonpath={.status.allocatable.nvidia\.com/gpu}")


def test_a_wrong_data_source_fails_the_dashboard_link(two: lab.Lab, gpustack: Run) -> None:
    words = ("-n", "monitoring", "get", "configmap", "monitoring-grafana-datasource", "-o", "json")
    loads = json.loads(run_kubectl(two, *words))
    stored_secret = {**loads, "metadata": {key: loads["metadata"][key] for key in ("name", "namespace", "labels")}}
    apply(two, json.loads(json.dumps(stored_secret).replace("monitoring-prometheus.", "nobody.")))
    try:
        wait_until(
            "no dashboard value",
            lambda: (
                {links["dashboard"] for links in prove_gpus(two, gpustack, code=None).values()} <= {"failed", "unknown"}
            ),
            limit=200,
        )
        links_by_gpu = prove_gpus(two, gpustack, code=None)
    finally:
        apply(two, stored_secret)
    assert all((links["kernel"], links["series"]) == ("ok", "ok") for links in links_by_gpu.values())


def test_after_recovery_all_is_proven_again(two: lab.Lab, gpustack: Run) -> None:
    wait_until(
        "series are back", lambda: len(query_labels(two, "DCGM_FI_DEV_GPU_TEMP", "UUID")) == len(ALL_GPUS), limit=120
    )
    expected_links = dict.fromkeys(ALL_GPUS, ALL_OK)
    wait_until("all are proven", lambda: prove_gpus(two, gpustack, code=None) == expected_links, limit=200)
    assert "nothing to do" in gpustack("install", "-i", two.inventory, "--yes").stdout

"""The healthy cluster of cluster.py with two GPUs on each of its hosts; a test changes what it needs.

Kubernetes' words are of two lab hosts with simulated GPUs; names and machine-ids are those of k1 and k2.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host, HostSpec
from gpustack.probes.kubernetes.applied_objects import MANAGER
from gpustack.steps.gpu.exporter import render_counters
from gpustack.steps.gpu.metrics_objects import MONITOR_NAME, build_monitor, select_monitor
from gpustack.steps.gpu.operator_values import build_release
from gpustack.steps.step import Step
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_answer, make_list, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.hosts import UBUNTU
from tests.worlds.snapshots.judge import judge_checks
from tests.worlds.snapshots.managed_fields import build_owned_fields

SYSTEMS = {"k1": "debian-12", "k2": "debian-13"}
# The hosts of the recorded cluster: whose they were, and whose they are here.
NAMES = (("host1", "k1"), ("host2", "k2"))
MACHINES = (
    ("54488fe579ab4b438d390fa249cc2c16", cluster.MACHINES["k1"]),
    ("0973923b33d34c7cbc6b47819f94adc0", cluster.MACHINES["k2"]),
)
PROBES = ("gpu.daemon-sets", "gpu.deployments", "dcgm.monitors")
# What only the doctor asks, of the cluster and of each host.
QUERIED_PROBES = (
    "gpu.pods", "monitoring.pods", "pods.pending", "scrape.jobs", "scrape.down-targets", "scrape.clocks",
    "scrape.duplicates", "scrape.blanks", "scrape.rejected-objects", "scrape.dcgm-names", "scrape.xids",
    "scrape.row-remap", "scrape.kubelets", "gpu.policy-settings", "gpu.exporters", "gpu.config-maps",
    "monitoring.operators", "admission.validating", "admission.mutating", "monitoring.claims", "grafana.dashboards",
    "proof.services", "service-monitors.objects", "service-monitors.selectors", "scrape.host-labels",
)  # fmt: skip
ASKED_OF_HOSTS = ("gpu.logs", "gpu.kernel-log", "gpu.plugin-files", "gpu.inotify", "network.programs")

# A fleet on Ubuntu without any driver: NVIDIA's operator brings it in containers.
BARE: Answers = {
    (probe, host): UBUNTU if probe == "system.os" else read_case(probe, "fresh-debian-12")
    for probe in ("system.os", "gpu.packages", "gpu.driver")
    for host in ("k1", "k2")
}


def read_answers(probe: str, case: str = "two-hosts") -> dict[tuple[str, str], Answer]:
    """Read a case of the recorded cluster, with the names of k1 and k2."""
    names_by_probe = {"gpu.pods": NAMES, "scrape.kubelets": NAMES}
    edits = {"gpu.nodes": (*NAMES, *MACHINES), "dcgm.series": NAMES, **names_by_probe}.get(probe, ())
    return place_answers(CLUSTER, read_case(probe, case, *edits))


def edit_answer(probe: str, change: Callable[[list[Any]], object], case: str = "two-hosts") -> Answers:
    """Edit the objects (or samples) of a case in place."""
    ((key, answer),) = read_answers(probe, case).items()
    body = json.loads(answer.stdout)
    change(body["items"] if "items" in body else body["data"]["result"])
    return {key: replace(answer, stdout=json.dumps(body))}


def build_devices(host: str, *buses: str) -> Answers:
    """Answer with the devices on the PCI bus of a host."""
    return place_answers(host, make_answer("gpu.devices", "".join(f"{bus} 0x2330\n" for bus in buses)))


def add_gpus(answers: Answers, spec: Mapping[str, Any] | None = None) -> dict[tuple[str, str], Answer]:
    """Add two GPUs a host to the answers of a healthy cluster without GPUs."""
    edited_answers = dict(answers)
    for host, system in SYSTEMS.items():
        for probe in ("gpu.devices", "gpu.packages", "gpu.driver", "gpu.host-engines", "system.os"):
            edited_answers[probe, host] = read_case(probe, f"prepared-{system}")
        for probe in ASKED_OF_HOSTS:
            edited_answers[probe, host] = read_case(probe, f"two-hosts-{system}")
    for probe in ("gpu.nodes", "dcgm.series", "dcgm.alert-inputs", *PROBES, *QUERIED_PROBES):
        edited_answers |= read_answers(probe)
    for probe in ("grafana.response", "monitoring.rights"):
        edited_answers[probe, "k1"] = read_case(probe, "two-hosts")
    edited_answers |= place_list("gpu.temporary", [])
    edited_answers["gpu.cluster-policies", CLUSTER] = read_case("gpu.cluster-policies", "ready")
    view = View(cluster.build_snapshot(edited_answers, spec or {}, (K1, K2)), CLUSTER)
    table = {"dcgm-metrics.csv": render_counters(view)}
    edited_answers |= place_list("dcgm.counters", [{"metadata": {"name": "gpustack-dcgm-counters"}, "data": table}])
    if select_monitor(view).name == MONITOR_NAME:
        monitor = build_monitor(view)
        fields = [{"manager": MANAGER, "fieldsV1": build_owned_fields(monitor)}]
        edited_answers |= place_list(
            "applied.service-monitors", [{"metadata": {**monitor["metadata"], "managedFields": fields}}]
        )
    return (
        edited_answers
        | build_releases(edited_answers, digest=build_release(view).compute_digest(view))
        | build_namespace(edited_answers)
    )


def place_list(probe: str, items: list[Any]) -> dict[tuple[str, str], Answer]:
    return place_answers(CLUSTER, make_list(probe, items))


def list_other_objects(probe: str, answers: Answers) -> list[Any]:
    """List the objects of an answer without those of the GPUs."""
    items = json.loads(answers[probe, CLUSTER].stdout)["items"] if (probe, CLUSTER) in answers else []
    return [manifest for manifest in items if "gpu-operator" not in manifest["metadata"]["name"]]


def build_releases(answers: Answers, **labels: str) -> dict[tuple[str, str], Answer]:
    """The Secret of the operator's release, beside those of others."""
    own_labels = {
        "name": "gpu-operator",
        "owner": "helm",
        "status": "deployed",
        "version": "1",
        "gpustack-chart": "v26.7.0",
    }
    other_labels = {("gpustack-digest" if name == "digest" else name): text for name, text in labels.items()}
    secret = {
        "name": "sh.helm.release.v1.gpu-operator.v1",
        "namespace": "gpu-operator",
        "labels": own_labels | other_labels,
    }
    return place_list("helm.releases", [*list_other_objects("helm.releases", answers), {"metadata": secret}])


def build_namespace(
    answers: Answers, phase: str = "Active", level: str = "privileged"
) -> dict[tuple[str, str], Answer]:
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    namespace = {"metadata": {"name": "gpu-operator", "labels": labels}, "status": {"phase": phase}}
    return place_list("kube.namespaces", [*list_other_objects("kube.namespaces", answers), namespace])


def set_gpus(host: Host, **settings: Any) -> Host:
    """Set gpustack_sharing, gpustack_mig or gpustack_gpus of a host."""
    return replace(host, spec=HostSpec.model_validate(settings))


def build_snapshot(
    changed_answers: Answers | None = None, spec: Mapping[str, Any] | None = None, hosts: Sequence[Host] = (K1, K2)
) -> Snapshot:
    """Snapshot a cluster that is healthy for the spec, but for what is changed."""
    answers = add_gpus(cluster.build_answers(), spec)
    if hosts != (K1, K2):
        view = View(cluster.build_snapshot(answers, spec or {}, hosts), CLUSTER)
        answers |= build_releases(answers, digest=build_release(view).compute_digest(view))
    return cluster.build_snapshot(answers | dict(changed_answers or {}), spec or {}, hosts)


def judge(step: Step, changed_answers: Answers | None = None, **options: Any) -> dict[str, Judgement]:
    """The judgements of the cluster, by check. `options` are spec and hosts."""
    return judge_checks(step, build_snapshot(changed_answers, **options), CLUSTER)

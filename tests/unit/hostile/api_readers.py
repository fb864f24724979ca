"""Readers of answers of the API, Alertmanager and Grafana."""

import json
from collections.abc import Callable
from typing import Any

from gpustack.ask.api import describe_refusal
from gpustack.ask.probe import Answer
from gpustack.ask.prune import prune
from gpustack.nodes.reboot_record import RebootRecord, parse_reboot_record
from gpustack.probes.gpu.temporary_changes import parse_mark
from gpustack.probes.kubernetes.node_records import parse_cordon, parse_proven_gpus
from gpustack.proof.alertmanager import Alertmanager
from gpustack.proof.credential import parse_login
from gpustack.proof.grafana import Grafana
from gpustack.proof.grafana import Refusal as GrafanaRefusal
from gpustack.proof.http import Web
from gpustack.proof.pod import ApiRefused, Pods, parse_reason
from gpustack.remediation.act_record import parse_acts
from gpustack.remedy.objects import compare_objects
from tests.unit.hostile.content import spoil_document
from tests.unit.hostile.reader import Reader
from tests.unit.proof.core_api import build_discovery
from tests.worlds.snapshots.build import TAKEN_AT

ALERTS = [
    {
        "receivers": [{"name": "gpustack"}],
        "startsAt": "2026-11-22T01:34:54.900Z",
        "status": {"inhibitedBy": [], "mutedBy": [], "silencedBy": [], "state": "active"},
    }
]
COUNTERS = """\
# TYPE alertmanager_notification_requests_total counter
alertmanager_notification_requests_total{integration="webhook"} 10
alertmanager_notifications_failed_total{integration="webhook",reason="other"} 0
process_start_time_seconds 1.79531169524e+09
"""
STATUS = {"config": {"original": "receivers:\n- name: both\n  slack_configs: [{api_url: <secret>}]\n"}}
FRAMES = {
    "results": {
        "A": {
            "frames": [
                {
                    "schema": {
                        "fields": [
                            {"name": "Time", "type": "time"},
                            {"name": "v", "type": "number", "labels": {"UUID": "a"}},
                        ]
                    },
                    "data": {"values": [[1790000000000], [40]]},
                }
            ]
        }
    }
}
DISCOVERY = build_discovery("apps", ["deployments"])
PODS = {"items": [{"metadata": {"name": "proof-1", "uid": "1", "annotations": {}}, "status": {"phase": "Running"}}]}
SPACE = {
    "kind": "Namespace",
    "metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": "gpustack"}, "uid": "1"},
}
OBJECT = {
    "kind": "List",
    "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}],
}
MARK = {"until": "2026-11-25T10:00:00+00:00", "former": "", "values": ["paused"], "who": "ann@desk (pid 7)"}
REBOOT = RebootRecord("h1", "b", {"nvidia.com/gpu": 4}, has_exporter=True, author="ann", begun_at="today")
ACT = {
    "rung": "reset", "begun_at": "2026-11-30T00:00:00+00:00", "author": "ann", "verdict": "reset", "gpus": [],
    "end": "done",
}  # fmt: skip
SECRET = {"admin-user": "YWRtaW4=", "admin-password": "c2VjcmV0"}


class SpokenWeb(Web):
    """Answer every request with one text."""

    def __init__(self, content: bytes) -> None:
        super().__init__("server", "127.0.0.1", 9)
        object.__setattr__(self, "content", content.decode(errors="replace"))

    def request_text(self, verb: str, path: str, body: str | None = None) -> tuple[int, str]:
        return 200, str(vars(self)["content"])


class SpokenApi:
    """Answer every read of the API with one content."""

    def __init__(self, content: bytes) -> None:
        self.content = self.data = content
        self.api_client = self.configuration = self
        self.host, self.status, self.reason = "", 200, "OK"

    def __getattr__(self, name: str) -> Callable[..., "SpokenApi"]:
        return lambda *_, **__: self

    def read(self) -> bytes:
        return self.content


def ask_grafana(content: bytes) -> None:
    try:
        Grafana(SpokenWeb(content)).query_panel("DCGM_FI_DEV_GPU_TEMP", 0.0)
    except GrafanaRefusal:
        return


def ask_api(content: bytes) -> None:
    """Read as a proof does. An error of one read does not keep the others from it."""
    pods = Pods(SpokenApi(content), lambda _: None, iter(range(10**6)).__next__)
    for read in (pods.list_pods, pods.read_namespace, pods.is_empty, lambda: pods.find_warning("p")):
        try:
            read()
        except ApiRefused:
            continue


def describe_refusals(text: str) -> tuple[str, str]:
    return describe_refusal("403", "", text), parse_reason(text)


def judge_copies(content: bytes) -> None:
    text = content.decode(errors="replace")
    compare_objects("k1", ("", text, encode(OBJECT)[0].decode()), finished=True)


def encode(*documents: Any) -> tuple[bytes, ...]:
    return tuple(json.dumps(document).encode() for document in documents)


def build_answer(content: bytes) -> Answer:
    return Answer("x", "k1", 0, content.decode(errors="replace"))


READERS = (
    Reader(
        "Alertmanager's alerts",
        lambda: encode(ALERTS),
        lambda content, _: Alertmanager(SpokenWeb(content)).find_alert({"a": "b"}),
        spoil_document,
    ),
    Reader(
        "Alertmanager's status",
        lambda: encode(STATUS),
        lambda content, _: Alertmanager(SpokenWeb(content)).fetch_integrations(),
        spoil_document,
    ),
    Reader(
        "Alertmanager's counters",
        lambda: (COUNTERS.encode(),),
        lambda content, _: Alertmanager(SpokenWeb(content)).fetch_counts(),
    ),
    Reader("Grafana's panels", lambda: encode(FRAMES), lambda content, _: ask_grafana(content), spoil_document),
    Reader(
        "objects of the API",
        lambda: encode(PODS, SPACE, DISCOVERY),
        lambda content, _: ask_api(content),
        spoil_document,
    ),
    Reader(
        "refusals of the API",
        lambda: encode({"message": "no"}),
        lambda content, _: describe_refusals(content.decode(errors="replace")),
        spoil_document,
    ),
    Reader(
        "pruning",
        lambda: encode(PODS, OBJECT),
        lambda content, _: prune(content.decode(errors="replace"), ("metadata.name", "status")),
        spoil_document,
    ),
    Reader(
        "Grafana's login", lambda: encode(SECRET), lambda content, _: parse_login(build_answer(content)), spoil_document
    ),
    Reader("copies of objects", lambda: encode(OBJECT), lambda content, _: judge_copies(content), spoil_document),
    Reader(
        "marks of temporary changes",
        lambda: encode(MARK),
        lambda content, _: parse_mark("gpu1", "profiling", content.decode(errors="replace"), TAKEN_AT),
        spoil_document,
    ),
    Reader(
        "records of cordons",
        lambda: encode({"who": "ann", "at": "2026-11-30T00:00:00+00:00"}),
        lambda content, _: parse_cordon(content.decode(errors="replace")),
        spoil_document,
    ),
    Reader(
        "records of proofs",
        lambda: encode({"at": "2026-11-30T00:00:00+00:00", "gpus": ["GPU-1"]}),
        lambda content, _: parse_proven_gpus(content.decode(errors="replace")),
        spoil_document,
    ),
    Reader(
        "records of reboots",
        lambda: (REBOOT.text.encode(),),
        lambda content, _: parse_reboot_record(content.decode(errors="replace")),
        spoil_document,
    ),
    Reader(
        "records of acts",
        lambda: encode({"acts": [ACT]}),
        lambda content, _: parse_acts(content.decode(errors="replace")),
        spoil_document,
    ),
)

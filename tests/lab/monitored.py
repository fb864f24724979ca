"""What a monitored cluster says of itself, asked by kubectl on its control plane, not by our own probes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from gpustack.config.versions import KNOWN_SETS, read_version_set
from gpustack_lab import lab

PAUSE = f"registry.k8s.io/pause:{read_version_set(KNOWN_SETS[-1]).components['pause']}"
SERVICE = "/api/v1/namespaces/monitoring/services/http:monitoring-{}:http-web/proxy"


def kubectl(made: lab.Lab, *words: str, text: str = "") -> str:
    """What kubectl says that has to succeed."""
    done = made.exec(
        "host1", ["sudo", "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", *words], text=text, limit=120
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def query(made: lab.Lab, expression: str) -> list[dict[str, Any]]:
    """The samples of an instant query, each with its labels below `metric` and `value` as (time, text)."""
    path = f"{SERVICE.format('prometheus')}/api/v1/query?query={quote(expression, safe='')}"
    loads: list[dict[str, Any]] = json.loads(kubectl(made, "get", "--raw", path))["data"]["result"]
    return loads


def labels(made: lab.Lab, expression: str, *names: str) -> set[tuple[str, ...]]:
    """The values of these labels, of all samples."""
    return {tuple(sample["metric"].get(name, "") for name in names) for sample in query(made, expression)}


def apply(made: lab.Lab, *objects: dict[str, Any]) -> None:
    kubectl(made, "apply", "-f", "-", text="\n---\n".join(json.dumps(one) for one in objects))


@contextmanager
def gpus(made: lab.Lab, **words: str) -> Iterator[None]:
    """Words for GPUs (`host1_0="exporter-silent=1"`), recovered at the end."""
    wanted = {gpu.replace("_", ":"): text.split() for gpu, text in words.items()}
    try:
        for gpu, texts in wanted.items():
            made.set_gpu(gpu, *texts)
        yield
    finally:
        for gpu in wanted:
            made.set_gpu(gpu, "recover")

"""A registry that wants a login, and one that is not reached: containerd's words, of events in public issues
(NVIDIA/gpu-operator 1020, NVIDIA/nim-deploy 42, Mellanox/network-operator 1052, ciiiii/cloudflare-docker-proxy 62, 79).
"""

import json
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, snapshot

PULL = 'failed to pull and unpack image "nvcr.io/nim/a:1": failed to resolve reference "nvcr.io/nim/a:1": '
TOKEN = "failed to authorize: failed to fetch anonymous token: "
GET = f'{TOKEN}Get "https://nvcr.io/proxy_auth?scope=repository%3Anim%2Fa%3Apull": '
STATUS = f"{TOKEN}unexpected status from GET request to https://authn.nvidia.com/token?service=registry: "
HEAD = "unexpected status from HEAD request to https://nvcr.io/v2/nim/a/manifests/1: "


def judge_login(words: str) -> str:
    gpu_snapshot = snapshot(CLUSTER, gpu__pods="pull-fails")
    pods = gpu_snapshot.answers["gpu.pods", CLUSTER]
    loads = json.loads(pods.stdout)
    (pod,) = [entry for entry in loads["items"] if entry["metadata"]["name"] == "nim-a"]
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"] = PULL + words
    changed_answers = {**gpu_snapshot.answers, ("gpu.pods", CLUSTER): replace(pods, stdout=json.dumps(loads))}
    return evaluate("op-ngc-image-pull-auth", replace(gpu_snapshot, answers=changed_answers), CLUSTER).outcome


@pytest.mark.parametrize(
    "words",
    [
        f"{GET}dial tcp: lookup nvcr.io on 10.0.0.2:53: read udp 10.0.0.5:49586->10.0.0.2:53: i/o timeout",
        f"{GET}dial tcp: lookup nvcr.io: no such host",
        f"{GET}dial tcp 108.160.165.48:443: i/o timeout",
        f"{GET}dial tcp 199.59.149.230:443: connect: connection refused",
        f"{GET}tls: failed to verify certificate: x509: certificate signed by unknown authority",
        f"{GET}Proxy Authentication Required",
        f"{STATUS}503 Service Unavailable",
        "failed to extract layer: open /var/lib/containerd/tmpmounts/a: permission denied",
    ],
)
def test_a_registry_that_is_not_reached_wants_no_login(words: str) -> None:
    assert judge_login(words) == "ok"


@pytest.mark.parametrize(
    "words",
    [
        f"{STATUS}401 Unauthorized",
        f"{TOKEN}unexpected status: 403 Forbidden",
        f"{HEAD}401 Unauthorized",
        f"{HEAD}403 Forbidden",
        "failed to copy: httpReadSeeker: failed open: server message: insufficient_scope: authorization failed",
        "pull access denied, repository does not exist or may require authorization",
    ],
)
def test_a_registry_that_refuses_wants_one(words: str) -> None:
    assert judge_login(words) == "failed"

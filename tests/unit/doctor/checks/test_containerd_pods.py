"""The running daemon needs a network and an image for every pod."""

import pytest

from gpustack.ask.judge import Judgement
from tests.unit.doctor.checks.evaluation import judge_host, summarize
from tests.worlds.snapshots.answers import make_answer, read_case

MISSING = "cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized"


@pytest.mark.parametrize(
    ("reason", "newest", "outcome"),
    [
        ("", 900, "ok"),
        (MISSING, 900, "failed"),
        (MISSING, 5, "unknown"),
        (MISSING, None, "ok"),
        ("cni plugin returned an error", 900, "ok"),
    ],
)
def test_a_network_that_containerd_missed_fails(reason: str, newest: int | None, outcome: str) -> None:
    ready = "false" if reason else "true"
    status = f'"status": {{\n"conditions": [{{"type": "NetworkReady", "status": {ready}, "message": "{reason}"}}]}}\n}}'
    files = "" if newest is None else f"{1795237200 - newest}\n"
    stdout = f'== now\n1795237200\n== files\n{files}== loaded\n"{reason or "OK"}"\n== status\n{status}\n'
    assert (
        judge_host(
            "containerd-cni-status-stale", {"containerd.network": make_answer("containerd.network", stdout)}
        ).outcome
        == outcome
    )


def test_an_unreadable_network_status_is_unknown() -> None:
    cut = read_case("containerd.network", "control-plane", ('"NetworkReady"', '"Other"'))
    assert judge_host("containerd-cni-status-stale", {"containerd.network": cut}).outcome == "unknown"


IMAGE = "== image\nregistry.lab/pause:3.10\n== there\n{}== others\n{}== failed\n{}"
FAILED_PULL = '| RunPodSandbox failed, error="failed to get sandbox image \\"registry.lab/pause:3.10\\": i/o timeout"\n'


@pytest.mark.parametrize(
    ("pulled_image", "image_names", "failure", "fault", "guard"),
    [
        ("sha256:1\n", "registry.k8s.io/kube-proxy\n", "", "ok", "failed"),
        ("", "registry.k8s.io/kube-proxy\n", FAILED_PULL, "failed", "failed"),
        ("", "", FAILED_PULL, "failed", "ok"),
        ("", "registry.k8s.io/kube-proxy\n", "", "ok", "failed"),
        ("", "a b\n", FAILED_PULL, "unknown", "unknown"),
    ],
)
def test_a_missing_pause_image_fails(pulled_image: str, image_names: str, failure: str, fault: str, guard: str) -> None:
    """A host without any image cannot reach the registry, which is another fault."""
    answers = {
        "containerd.sandbox": make_answer("containerd.sandbox", IMAGE.format(pulled_image, image_names, failure))
    }
    assert judge_host("containerd-sandbox-image-unpullable", answers).outcome == fault
    assert judge_host("containerd-sandbox-image-unpullable guard", answers).outcome == guard


def test_containers_that_do_not_end_confirm_stuck_pods() -> None:
    def judge_stuck(output: str) -> Judgement:
        probe = "containerd.stuck-containers"
        return judge_host("st-pods-stuck-terminating", {probe: make_answer(probe, output)})

    line = "failed to kill container: unable to signal init: permission denied"
    assert summarize(judge_stuck(f"| {line}\n")) == ("failed", line)
    assert judge_stuck("").outcome == "ok"
    assert judge_stuck("x\n").outcome == "unknown"

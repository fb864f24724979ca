"""What the running daemon needs for every pod."""

import pytest

from gpustack.ask.judge import Judgement
from tests.unit.doctor.checks.evaluation import judge_host, summary
from tests.worlds.snapshots.answers import make_answer, read_case

MISSING = "cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized"


@pytest.mark.parametrize(
    ("why", "newest", "outcome"),
    [
        ("", 900, "ok"),
        (MISSING, 900, "failed"),
        (MISSING, 5, "unknown"),
        (MISSING, None, "ok"),
        ("cni plugin returned an error", 900, "ok"),
    ],
)
def test_a_network_that_was_not_noticed(why: str, newest: int | None, outcome: str) -> None:
    ready = "false" if why else "true"
    status = f'"status": {{\n"conditions": [{{"type": "NetworkReady", "status": {ready}, "message": "{why}"}}]}}\n}}'
    files = "" if newest is None else f"{1795237200 - newest}\n"
    out = f'== now\n1795237200\n== files\n{files}== loaded\n"{why or "OK"}"\n== status\n{status}\n'
    assert (
        judge_host(
            "containerd-cni-status-stale", {"containerd.network": make_answer("containerd.network", out)}
        ).outcome
        == outcome
    )


def test_a_network_that_is_unknown() -> None:
    cut = read_case("containerd.network", "control-plane", ('"NetworkReady"', '"Other"'))
    assert judge_host("containerd-cni-status-stale", {"containerd.network": cut}).outcome == "unknown"


IMAGE = "== image\nregistry.lab/pause:3.10\n== there\n{}== others\n{}== failed\n{}"
FAILED = '| RunPodSandbox failed, error="failed to get sandbox image \\"registry.lab/pause:3.10\\": i/o timeout"\n'


@pytest.mark.parametrize(
    ("there", "others", "failed", "fault", "guard"),
    [
        ("sha256:1\n", "registry.k8s.io/kube-proxy\n", "", "ok", "failed"),
        ("", "registry.k8s.io/kube-proxy\n", FAILED, "failed", "failed"),
        ("", "", FAILED, "failed", "ok"),
        ("", "registry.k8s.io/kube-proxy\n", "", "ok", "failed"),
        ("", "a b\n", FAILED, "unknown", "unknown"),
    ],
)
def test_the_pause_image(there: str, others: str, failed: str, fault: str, guard: str) -> None:
    """Where no image at all is here, the registry is out of reach, which is another fault."""
    answers = {"containerd.sandbox": make_answer("containerd.sandbox", IMAGE.format(there, others, failed))}
    assert judge_host("containerd-sandbox-image-unpullable", answers).outcome == fault
    assert judge_host("containerd-sandbox-image-unpullable guard", answers).outcome == guard


def test_containers_that_do_not_end() -> None:
    def stuck(out: str) -> Judgement:
        probe = "containerd.stuck-containers"
        return judge_host("st-pods-stuck-terminating", {probe: make_answer(probe, out)})

    line = "failed to kill container: unable to signal init: permission denied"
    assert summary(stuck(f"| {line}\n")) == ("failed", line)
    assert stuck("").outcome == "ok"
    assert stuck("x\n").outcome == "unknown"

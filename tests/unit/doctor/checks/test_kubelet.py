"""The kubelet: its unit, its words, its configuration, its certificate."""

from collections.abc import Mapping

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

SILENT = {("kubelet.health", "k1"): Answer("kubelet.health", "k1", 7, "")}
STRANGER = place_answers("k1", make_answer("system.identity", "0123456789abcdef0123456789abcdef\n\n"))


def judge_at(id: str, answers: Mapping[tuple[str, str], Answer], location: str = "k1") -> tuple[str, str]:
    member = place_answers("k1", read_case("leftovers.kubernetes", "worker-of-ours"))
    return judge_cluster(id, member | dict(answers), location)


FLAG_ERROR = 'err="failed to parse kubelet flag: unknown flag: --container-runtime"'
# Of kubernetes/kubernetes pkg/kubelet/cm/container_manager_linux.go, v1.36.
SWAP_ERROR = (
    'err="failed to run Kubelet: running with swap on is not supported, please disable swap or set --fail-swap-on '
    'flag to false"'
)
READ_ONLY_ERROR = 'err="failed to run Kubelet: mkdir /var/lib/kubelet/pods: read-only file system"'


def start(*edits: tuple[str, str]) -> dict[tuple[str, str], Answer]:
    return place_answers("k1", read_case("kubelet.start", "control-plane", *edits))


@pytest.mark.parametrize(
    ("edits", "outcome"),
    [
        ((), "ok"),
        ((("=active", "=inactive"),), "failed"),
        ((("=active", "=inactive"), ("=enabled", "=disabled")), "failed"),
        ((("=active", "=failed"), ("=success", "=exit-code")), "ok"),
        ((("=active", "=activating"), ("=success", "=exit-code")), "ok"),
    ],
)
def test_a_stopped_kubelet_fails(edits: tuple[tuple[str, str], ...], outcome: str) -> None:
    """A kubelet that starts and fails has a deeper reason."""
    assert judge_at("kubelet-not-running", start(*edits))[0] == outcome
    assert judge_at("kubelet-not-running guard", start(*edits))[0] == outcome


def test_a_missing_kubelet_is_no_stopped_one() -> None:
    without_unit = start(("=loaded", "=not-found"))
    assert judge_at("kubelet-not-running", without_unit) == ("ok", "not installed")
    assert judge_at("kubelet-no-config-yet", without_unit) == ("ok", "not installed")
    assert judge_at("kubelet-unknown-flag", place_answers("k1", make_answer("kubelet.start", "x\n")))[0] == "unknown"


WORDS = (
    '== said\n| E1121 04:59:01.1 812 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: '
    '--container-runtime"\n== files\n/var/lib/kubelet/kubeadm-flags.env\n'
)
FLAG = ("== said\n== files\n", WORDS)


def test_an_unknown_flag_fails() -> None:
    judgement = judge_at("kubelet-unknown-flag", start(FLAG) | SILENT)
    assert judgement == ("failed", "--container-runtime (in /var/lib/kubelet/kubeadm-flags.env)")
    assert judge_at("kubelet-unknown-flag", start(FLAG)) == ("ok", "accepted by the kubelet")
    assert judge_at("kubelet-unknown-flag", start() | SILENT) == ("ok", "no error")


def test_a_host_that_never_joined_has_no_configuration() -> None:
    bare = start(("config\nyes", "config\nno"))
    assert judge_at("kubelet-no-config-yet", start())[0] == "ok"
    assert judge_at("kubelet-no-config-yet", bare)[0] == "failed"
    assert judge_at("kubelet-no-config-yet guard", bare)[0] == "failed"
    refused_nodes = place_answers(CLUSTER, read_case("kube.nodes", "refused"))
    assert judge_at("kubelet-no-config-yet guard", refused_nodes)[0] == "unknown"


def test_a_join_without_a_node_fails() -> None:
    assert judge_at("st-join-failed", {}) == ("ok", "k1")
    assert judge_at("st-join-failed", STRANGER)[0] == "failed"
    bare_host = STRANGER | start(("config\nyes", "config\nno")) | place_answers("k1", make_answer("kubeadm.files", ""))
    assert judge_at("st-join-failed", bare_host) == ("unknown", "no evidence of an attempted join")


def test_an_expired_kubelet_certificate_fails() -> None:
    assert judge_at("kubelet-client-cert-expired", {})[0] == "ok"
    old = read_case("kubelet.certificate", "control-plane", ("2027 GMT", "2025 GMT"))
    assert judge_at("kubelet-client-cert-expired", {("kubelet.certificate", "k1"): old})[0] == "failed"
    without_certificate = place_answers("k1", make_answer("kubelet.certificate", ""))
    assert judge_at("kubelet-client-cert-expired", without_certificate) == ("ok", "none on this host")
    odd = place_answers("k1", make_answer("kubelet.certificate", "in /x\n"))
    assert judge_at("kubelet-client-cert-expired", odd)[0] == "unknown"


@pytest.mark.parametrize(("value", "outcome"), [("1", "ok"), ("0", "failed")])
def test_targets_of_the_kubelets_that_are_down_fail(value: str, outcome: str) -> None:
    body = f'{{"metric":{{"job":"kubelet"}},"value":[0,"{value}"]}}'
    stdout = f'{{"status":"success","data":{{"resultType":"vector","result":[{body}]}}}}'
    answers = place_answers(CLUSTER, make_answer("monitoring.targets", stdout))
    assert judge_at("st-kubelet-down -> st-target-down", answers)[0] == outcome


@pytest.mark.parametrize(
    ("error", "swap", "disk"),
    [(FLAG_ERROR, "ok", "ok"), (SWAP_ERROR, "failed", "ok"), (READ_ONLY_ERROR, "ok", "failed")],
)
def test_swap_and_the_disk_stop_a_kubelet_that_says_so(error: str, swap: str, disk: str) -> None:
    answers = place_answers("k1", read_case("kubelet.start", "unknown-flag", (FLAG_ERROR, error)))
    assert judge_at("host-swap-on -> st-kubelet-down", answers)[0] == swap
    assert judge_at("host-root-readonly-or-io-errors -> st-kubelet-down", answers)[0] == disk

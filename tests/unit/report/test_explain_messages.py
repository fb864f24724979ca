"""`gpustack explain` finds the fault of a message that somebody pastes, or of a word of kubectl's."""

import pytest

from gpustack.errors import UsageError
from gpustack.exit_status import ExitStatus
from gpustack.report.explain.contents import explain_topic
from gpustack.report.explain.faults import list_faults
from gpustack.report.explain.messages import find_messages

MESSAGES = {
    # Recorded on lab hosts, in tests/snapshots/FAULT*.jsonl.
    "kubelet-unknown-flag": 'E1122 08:10:23.598311  128997 run.go:72] "command failed" err="failed to parse kubelet '
    'flag: unknown flag: --pod-infra-container-image"',
    "containerd-cni-status-stale": "cni config load failed: no network config found in /etc/cni/net.d: cni plugin not "
    "initialized: failed to load cni config",
    "controlplane-certs-expired": "Unable to connect to the server: tls: failed to verify certificate: x509: "
    "certificate has expired or is not yet valid: current time 2026-11-23T00:20:39Z is after 2025-01-01T00:00:00Z",
    "op-nvidia-runtime-handler-missing": 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get '
    'sandbox runtime: no runtime for "nvidia" is configured',
    # With another lock holder, kernel and address than the catalogue has (apt-pkg/deb/debsystem.cc, kubectl's
    # pkg/cmd/util/helpers.go).
    "host-apt-lock": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 911 (apt-get)",
    "control-plane-manifest-missing": "The connection to the server 192.0.2.7:6443 was refused - did you specify the "
    "right host or port?",
}  # fmt: skip


@pytest.mark.parametrize(("fault", "message"), MESSAGES.items(), ids=MESSAGES)
def test_a_pasted_message_finds_its_fault(fault: str, message: str) -> None:
    names = [name for name, _ in find_messages(message.split())]
    assert fault in names
    assert len(names) <= 4


def test_each_symptom_finds_its_fault_and_few_others() -> None:
    numbers = []
    for name, fault in list_faults().items():
        for symptom in fault.symptoms:
            names = [id for id, _ in find_messages(symptom.split())]
            assert name in names, symptom
            numbers.append(len(names))
    assert sum(number <= 3 for number in numbers) > 0.9 * len(numbers)


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("ContainerCreating", "st-sandbox-fails"),
        ("ImagePullBackOff", "op-ngc-image-pull-auth"),
        ("CrashLoopBackOff", "host-resolv-stub-loop"),
        ("OOMKilled", "mon-prometheus-oom"),
        ("oomkilled", "docs/exporter.md"),
        ("FailedScheduling", "st-pods-pending"),
        ("nvidia.com/gpu", "insufficient-resources"),
    ],
)
def test_words_of_kubectl_find_pages(word: str, page: str) -> None:
    assert f"  {page}  " in explain_topic(word)


@pytest.mark.parametrize("message", ["the cat sat on the mat", "error: the model did not converge", "loss is 0.31"])
def test_a_message_of_no_fault_finds_none(message: str) -> None:
    assert not [name for name, text in find_messages(message.split()) if message not in text.casefold()]


@pytest.mark.parametrize("words", ["exit code 8", "exit status 8", "exit 8", "exit-code 8"])
def test_an_exit_code_is_found_by_its_number(words: str) -> None:
    assert explain_topic(*words.split()) == f"    8  {ExitStatus.UNKNOWN.meaning}\n"


def test_an_exit_code_that_no_command_has_is_refused() -> None:
    with pytest.raises(UsageError, match="no page exit code 99"):
        explain_topic("exit", "code", "99")

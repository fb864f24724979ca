"""Differences from the spec from which nothing suffers yet are risks, and do not count for the exit status."""

from dataclasses import replace

from gpustack.ask.probe import Answer
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from tests.unit.doctor.states.objects import build_healthy
from tests.worlds.snapshots.answers import place_answers, read_case


def diagnose_answer(location: str, answer: Answer, **settings: str) -> Diagnosis:
    """Diagnose the healthy cluster with an answer of a host and settings of the spec."""
    healthy = build_healthy()
    spec = healthy.inventory.spec.model_copy(update=settings)
    inventory = replace(healthy.inventory, spec=spec)
    new_answers = {**healthy.answers, **place_answers(location, answer)}
    return diagnose(replace(healthy, inventory=inventory, answers=new_answers))


def list_latent(diagnosis: Diagnosis) -> list[tuple[str, tuple[str, ...], str]]:
    states = [state for state in diagnosis.abnormal_states if state.kind == "latent-difference"]
    return [(state.severity, state.subjects, state.message) for state in states]


def test_swap_that_the_kubelet_tolerates_is_no_drift() -> None:
    diagnosis = diagnose_answer("k2", read_case("kernel.swap", "ubuntu-swapfile"), swap="off")
    assert [root.id for root in diagnosis.select_roots("risk")] == ["host-swap-on"]
    message = "expected nothing, actual fstab: /swap.img none swap sw 0 0, swap.img.swap"
    assert list_latent(diagnosis) == [("risk", ("swap at boot",), message)]
    assert (diagnosis.drift, int(diagnosis.exit_status)) == ((), 0)


def test_certificates_that_end_soon_are_a_risk_with_their_date() -> None:
    usual = "Nov 21 04:38:10 2027"
    diagnosis = diagnose_answer(
        "k1", read_case("kubeadm.certificates", "control-plane", (usual, "Dec  3 04:38:10 2026"))
    )
    ((severity, subjects, message),) = list_latent(diagnosis)
    assert (severity, subjects) == ("risk", ("certificates of the control plane",))
    assert "kube-apiserver until 2026-12-03" in message
    assert (diagnosis.drift, int(diagnosis.exit_status)) == ((), 0)


def test_certificates_that_ended_are_no_risk() -> None:
    usual = "Nov 21 04:38:10 2027"
    diagnosis = diagnose_answer(
        "k1", read_case("kubeadm.certificates", "control-plane", (usual, "Jan  1 04:38:10 2025"))
    )
    assert [root.id for root in diagnosis.select_roots("broken")] == ["controlplane-certs-expired"]
    assert list_latent(diagnosis) == []

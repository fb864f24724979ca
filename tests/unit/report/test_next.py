"""A report ends with the command to type next."""

from dataclasses import replace

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Reach
from gpustack.command import Prose
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.rollout.next_command import suggest_after_install, suggest_after_plan
from gpustack.rollout.plan import Verification
from tests.worlds.results import plans, proofs
from tests.worlds.results.plans import CLOCK, PODS_GOOD, STRANGER, make_answers, make_plan

NAMES = ["kube1", "kube2"]
INSTALL = "gpustack install -i site/hosts.yml"
PLAN_COMMAND = "gpustack plan -v -i site/hosts.yml"
MANUAL = "gpustack explain ground/cpus"


def test_nothing_to_do_suggests_nothing() -> None:
    assert suggest_after_plan(plans.make_converged_plan()) == ""


def test_what_differs_is_installed() -> None:
    assert suggest_after_plan(plans.make_wide_plan()) == INSTALL


def test_one_host_that_needs_a_person_holds_up_no_other() -> None:
    plan = make_plan(NAMES, [*make_answers("kube1", swap="on"), *make_answers("kube2", cpus="1"), PODS_GOOD])
    assert suggest_after_plan(plan) == INSTALL


def test_behind_a_control_plane_that_needs_a_person_no_step_is_installed() -> None:
    plan = make_plan(NAMES, [*make_answers("kube1", cpus="1"), *make_answers("kube2", runtime=""), PODS_GOOD])
    assert suggest_after_plan(plan) == MANUAL
    same_step = make_plan(NAMES, [*make_answers("kube1", cpus="1"), *make_answers("kube2", swap="on"), PODS_GOOD])
    assert suggest_after_plan(same_step) == INSTALL


def test_a_host_that_needs_a_person_is_not_installed() -> None:
    """Nothing else differs: what else differs on that host is left until the person is done."""
    plan = make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2", cpus="1", swap="on"), PODS_GOOD])
    assert suggest_after_plan(plan) == MANUAL


def test_a_manual_fix_is_explained_first() -> None:
    assert (
        suggest_after_plan(make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2", cpus="1"), PODS_GOOD]))
        == MANUAL
    )
    upgrade = make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2", runtime="2.2.0"), PODS_GOOD])
    assert suggest_after_plan(upgrade) == "gpustack explain upgrade-needed"


def test_an_unreached_host_is_explained() -> None:
    good = [*make_answers("kube1"), *make_answers("kube2"), PODS_GOOD]
    assert suggest_after_plan(make_plan([*NAMES, "kube3"], good, [STRANGER])) == "ssh-keyscan 10.0.0.3"
    reach = Reach(
        "kube3", "host-sudo-password", "sudo asks", Prose("let this login use sudo (visudo), or log in as root")
    )
    assert suggest_after_plan(make_plan([*NAMES, "kube3"], good, [reach])) == "gpustack explain host-sudo-password"
    differing = [*make_answers("kube1", swap="on"), *make_answers("kube2"), PODS_GOOD]
    assert suggest_after_plan(make_plan([*NAMES, "kube3"], differing, [STRANGER])) == "ssh-keyscan 10.0.0.3"
    silent = Reach("kube3", "host-ssh-login", "not let in")
    assert suggest_after_plan(make_plan([*NAMES, "kube3"], good, [silent])) == "gpustack explain host-ssh-login"


def test_what_is_unknown_is_looked_at() -> None:
    lost_answer = Answer(CLOCK.id, "kube2", -1, "", missing_reason="broken off")
    assert (
        suggest_after_plan(make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2"), lost_answer, PODS_GOOD]))
        == PLAN_COMMAND
    )


def test_an_install_suggests_the_next_command() -> None:
    assert (
        suggest_after_install(plans.make_installed_outcome())
        == "gpustack kubeconfig --out kubeconfig -i site/hosts.yml"
    )
    assert suggest_after_install(plans.make_failed_outcome()) == PLAN_COMMAND
    assert suggest_after_install(replace(plans.make_failed_outcome(), stop_reason="interrupted")) == INSTALL


def test_an_install_that_a_person_holds_up_suggests_what_that_person_reads() -> None:
    plan = make_plan(NAMES, [*make_answers("kube1", cpus="1"), *make_answers("kube2"), PODS_GOOD])
    outcome = replace(plans.make_failed_outcome(), verification=Verification(plan, 0.7, 9), stop_reason="kube1")
    assert suggest_after_install(outcome) == PLAN_COMMAND
    assert suggest_after_install(replace(outcome, playbook_runs=())) == MANUAL


def test_gpus_want_to_be_proven() -> None:
    for stdout, expected_command in (("", "kubeconfig --out kubeconfig"), ("0000:65:00.0 0x2330\n", "prove")):
        devices = Answer(GPU_DEVICES.id, "kube2", 0, stdout)
        plan = make_plan(NAMES, [*make_answers("kube1"), *make_answers("kube2"), PODS_GOOD, devices])
        outcome = replace(plans.make_installed_outcome(), verification=Verification(plan, 0.7, 9))
        assert suggest_after_install(outcome) == f"gpustack {expected_command} -i site/hosts.yml"


def test_a_proof_suggests_the_next_command() -> None:
    verbs = [
        (proofs.make_good_proof(), "access grafana"),
        (proofs.make_mixed_proof(), "verify"),
        (proofs.make_interrupted_proof(), "prove"),
    ]
    for outcome, verb in verbs:
        assert outcome.suggest_command(proofs.INVENTORY) == f"gpustack {verb} -i site/hosts.yml"
    assert proofs.make_empty_proof().suggest_command(proofs.INVENTORY) == ""

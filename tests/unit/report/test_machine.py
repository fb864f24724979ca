"""Programs read JSON of the published shape, JUnit that an XML parser takes, and one document per run."""

import json as stdlib
from dataclasses import replace
from importlib import import_module
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.ask.probe import Answer
from gpustack.events import format_count
from gpustack.exit_status import ExitStatus
from gpustack.proof.delivery import Arrival, Deliveries, Delivery
from gpustack.report import json, junit
from gpustack.report.doctor import json as doctor_json
from gpustack.report.doctor import junit as doctor_junit
from gpustack.report.doctor.shape import DoctorDocument
from gpustack.report.fix import json as fix_json
from gpustack.report.fix.json import FixDocument, UndoDocument
from gpustack.report.format import format_locations
from gpustack.report.plan_schema import OutcomeDocument, PlanDocument
from gpustack.report.proof import delivery
from gpustack.report.render import show_result
from gpustack.report.rendering import Rendering
from gpustack.report.renderings import BURN, RENDERINGS
from gpustack.report.schema import Document
from gpustack.rollout.plan import build_idle_outcome
from gpustack.times import format_duration
from tests.schemas import check_shape
from tests.unit.report import fixes
from tests.worlds.results import diagnoses, plans, proofs
from tests.worlds.results.plans import SWAP, make_answers, make_plan


def test_json_has_the_published_shape() -> None:
    for plan in (plans.make_bare_plan(), plans.make_converged_plan(), plans.make_wide_plan()):
        check_shape(PlanDocument, json.render_plan(plan, verbose=True))
    for outcome in (plans.make_installed_outcome(), plans.make_failed_outcome()):
        check_shape(OutcomeDocument, json.render_outcome(outcome))


def test_a_test_alert_has_the_published_shape() -> None:
    for outcome in (
        Delivery("info", "delivered", "", (Arrival("a", "webhook", "delivered"),), 1.0),
        Delivery("info", "unknown", "lost", stop_reason="interrupted"),
    ):
        text = delivery.render_json(Deliveries((outcome,), ("warning",)), proofs.INVENTORY)
        check_shape(delivery.AlertTestDocument, text)


def test_a_diagnosis_has_the_published_shape() -> None:
    for result in (
        diagnoses.make_healthy_diagnosis,
        diagnoses.make_ufw_diagnosis,
        diagnoses.make_unexplained_diagnosis,
        diagnoses.make_joint_diagnosis,
    ):
        for verbose in (False, True):
            text = doctor_json.render_json(result(), verbose=verbose)
            check_shape(DoctorDocument, text)


def test_a_fix_and_an_undo_have_the_published_shape() -> None:
    for result in (fixes.make_good_fix(), fixes.make_mixed_fix()):
        check_shape(FixDocument, fix_json.render_json(result, ""))
    text = fix_json.render_rollback(fixes.make_rollback(), fixes.INVENTORY, "runs/1")
    check_shape(UndoDocument, text)


def test_a_diagnosis_for_ci_has_a_case_for_all_that_was_judged() -> None:
    diagnosis = diagnoses.make_ufw_diagnosis()
    root = fromstring(doctor_junit.render_junit(diagnosis))
    cases = root.findall("./testsuite/testcase")
    assert len(cases) == len(diagnosis.judgements)
    failed_classes = {case.get("classname") for case in cases if case.find("failure") is not None}
    assert failed_classes == {"host.host-ufw-blocks-pods", "host.host-ssh-unreachable"}
    skip_messages = {str(entry.get("message")) for case in cases for entry in case.findall("skipped")}
    assert skip_messages == {"caused by host-ufw-blocks-pods"}


def test_no_secret_stands_in_a_diagnosis() -> None:
    assert plans.PASSWORD not in doctor_json.render_json(diagnoses.make_ufw_diagnosis(), verbose=True)
    assert plans.PASSWORD not in doctor_junit.render_junit(diagnoses.make_ufw_diagnosis())


def test_evidence_of_what_holds_comes_with_verbose_only() -> None:
    def count_evidence(*, verbose: bool) -> list[int]:
        document = stdlib.loads(json.render_plan(plans.make_converged_plan(), verbose=verbose))
        return [len(check["evidence"]) for state in document["states"] for check in state["checks"]]

    assert set(count_evidence(verbose=False)) == {0}
    assert set(count_evidence(verbose=True)) == {1}


def test_long_answers_are_cut_and_say_so() -> None:
    document = stdlib.loads(json.render_plan(make_plan(["kube1"], make_answers("kube1", swap="x" * 5000))))
    (value,) = document["states"][0]["checks"][0]["evidence"]
    assert (len(value["stdout"]), value["truncated"]) == (4000, True)


def test_an_install_with_nothing_to_do_is_an_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    show_result(build_idle_outcome(plans.make_converged_plan()), "json")
    document = stdlib.loads(capsys.readouterr().out)
    assert (document["schema"], document["playbook_runs"], document["exit"]["code"]) == ("gpustack/outcome/v1", [], 0)
    show_result(build_idle_outcome(plans.make_converged_plan()), "human")
    assert "nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize("rendering", RENDERINGS.values(), ids=RENDERINGS)
def test_a_rendering_names_a_class_and_functions_that_exist(rendering: Rendering) -> None:
    module, name = rendering.type.split(":")
    result_type = getattr(import_module(f"gpustack.{module}"), name)
    assert (result_type.__module__, result_type.__name__) == (f"gpustack.{module}", name)
    for output in rendering.formats:
        module, name = getattr(rendering, output).split(":")
        assert callable(getattr(import_module(f"gpustack.report.{module}"), name))


@pytest.mark.parametrize(
    "rendering", [entry for entry in RENDERINGS.values() if entry.schema], ids=lambda entry: entry.schema
)
def test_a_rendering_with_a_schema_has_that_document(rendering: Rendering) -> None:
    module = import_module(f"gpustack.report.{rendering.json.partition(':')[0]}")
    shapes = [shape for shape in vars(module).values() if isinstance(shape, type) and issubclass(shape, Document)]
    kinds = {field.default for shape in shapes if not (field := shape.model_fields["kind"]).is_required()}
    assert f"gpustack/{rendering.schema}/v1" in kinds
    assert rendering.commands


def test_a_meaning_of_the_command_replaces_the_general_one() -> None:
    assert BURN.build_exit(ExitStatus.DIFFERS) == {"code": 1, "meaning": "a GPU failed, or is no longer offered"}
    assert BURN.build_exit(ExitStatus.INTERRUPTED) == {"code": 130, "meaning": "interrupted"}


@pytest.mark.parametrize("output", ["human", "json", "junit"])
def test_the_result_goes_to_stdout_and_nothing_to_stderr(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(plans.make_bare_plan(), output)
    show_result(plans.make_installed_outcome(), output)
    readouterr = capsys.readouterr()
    assert readouterr.out
    assert readouterr.err == ""


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(
    environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "COLORTERM", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show_result(plans.make_converged_plan(), "human")
    assert ("\x1b[32m" in capsys.readouterr().out) is coloured


def test_junit_counts_what_it_holds() -> None:
    root = fromstring(junit.render_plan(plans.make_bare_plan()))
    assert {name: int(root.get(name, "-1")) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": len(list(root.iter("testcase"))),
        "failures": len(list(root.iter("failure"))),
        "errors": len(list(root.iter("error"))),
        "skipped": len(list(root.iter("skipped"))),
    }
    assert all(int(root.get(name, "0")) > 0 for name in ("failures", "errors", "skipped"))


def test_junit_survives_what_xml_cannot_hold() -> None:
    wild = Answer(SWAP.id, "kube1", 0, "\x00\x0b\ufffe<&\ud800 ]]>")
    plan = make_plan(["kube1"], [*make_answers("kube1"), wild])
    assert "<&" in "".join(fromstring(junit.render_plan(plan)).itertext())


def test_without_failures_junit_has_none() -> None:
    outcome = replace(plans.make_installed_outcome(), playbook_runs=())
    assert fromstring(junit.render_outcome(outcome)).get("failures") == "0"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (0.64, "0.6 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_are_formatted(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_names_and_counts_are_formatted() -> None:
    assert format_locations(["a", "b", "a", "@cluster"]) == "a, b, the cluster"
    assert format_locations([f"n{n}" for n in range(5)]) == "n0, n1, n2, n3, n4"
    assert format_locations([f"n{n}" for n in range(30)]) == "n0, n1, n2, n3 and 26 more"
    assert (format_count(1, "host"), format_count(0, "host")) == ("1 host", "0 hosts")

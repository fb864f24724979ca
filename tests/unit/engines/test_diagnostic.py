"""The diagnostic: a skipped test has not passed, a warning is a failure, and what did not run is unknown."""

import io
from dataclasses import replace
from xml.etree.ElementTree import fromstring

import pytest

from gpustack.engines.call import Reply
from gpustack.engines.diagnostic import Diagnostic, add_losses, judge_level
from gpustack.engines.engine import compare_offers
from gpustack.report.gpus.diagnostic import render_human, render_junit
from gpustack.report.terminal import Terminal
from tests.worlds.programs.engines import (
    ENGINES,
    FIRST,
    build_result,
    build_software_test,
    format_json,
    render_diagnostic,
)

BROKEN_GPU = ("GPU 1 has a pending row remap.  ", 87, 6)


def judge_output(output: str, status: int = 0) -> Diagnostic:
    return judge_level(1, [Reply("gpu1", "dcgmi diag", status, output)], {})


def test_passed_tests_make_a_good_diagnostic() -> None:
    judgement = judge_output(render_diagnostic(build_software_test(build_result(0, "Pass"), build_result(1, "Pass"))))
    assert [verdict.outcome for verdict in judgement.verdicts] == ["passed", "passed"]
    assert judgement.versions == {"gpu1": "DCGM 4.6.0, driver 580.95.05"}
    assert judgement.exit_status == 0


@pytest.mark.parametrize("status", [-30, -51])
def test_a_test_failed_on_one_gpu(status: int) -> None:
    judgement = judge_output(
        render_diagnostic(
            build_software_test(build_result(0, "Pass"), build_result(1, "Fail", BROKEN_GPU), status="Fail")
        ),
        status,
    )
    assert [(verdict.entity, verdict.outcome) for verdict in judgement.verdicts] == [
        ("GPU 0", "passed"),
        ("GPU 1", "failed"),
    ]
    assert judgement.verdicts[1].reasons == ("GPU 1 has a pending row remap. (error 87, hardware memory, reset)",)
    assert judgement.exit_status == 1


def test_a_passed_test_keeps_its_warnings_with_their_category() -> None:
    output = render_diagnostic(build_software_test(build_result(0, "Pass", BROKEN_GPU), build_result(1, "Pass")))
    judgement = judge_output(output)
    assert [verdict.reasons for verdict in judgement.verdicts] == [
        ("GPU 1 has a pending row remap. (error 87, hardware memory, reset)",),
        (),
    ]
    assert judgement.exit_status == 0
    stdout = io.StringIO()
    render_human(Terminal(stdout, width=160), judgement)
    assert "Deployment: software" in stdout.getvalue()
    assert "(error 87, hardware memory, reset)" in stdout.getvalue()
    assert "GPU 1 " not in stdout.getvalue().replace("GPU 1 has", "")
    case_with_warnings, other_case = fromstring(render_junit(judgement)).iter("testcase")
    assert case_with_warnings.findtext("system-out") == (
        "GPU 1 has a pending row remap. (error 87, hardware memory, reset)"
    )
    assert (len(case_with_warnings), len(other_case)) == (1, 0)


@pytest.mark.parametrize(("number", "category"), [("10", "hardware memory"), ("17", "unknown"), ("-1", "unknown")])
def test_a_category_that_dcgm_added_is_unknown(number: str, category: str) -> None:
    result = render_diagnostic(build_software_test(build_result(0, "Fail", BROKEN_GPU), status="Fail"))
    (verdict,) = judge_output(result.replace('"error_category": 10', f'"error_category": {number}'), -30).verdicts
    assert f"(error 87, {category}" in verdict.reasons[0]


def test_what_is_of_no_gpu_is_of_the_node() -> None:
    judgement = judge_output(render_diagnostic(build_software_test(build_result(0, "Pass"), status="Fail")), -30)
    assert [(verdict.entity, verdict.outcome) for verdict in judgement.verdicts] == [
        ("GPU 0", "passed"),
        ("", "failed"),
    ]


def test_to_skip_all_is_not_to_pass() -> None:
    judgement = judge_output(render_diagnostic(build_software_test(build_result(0, "Skip"), status="Skip")))
    assert judgement.unproven_nodes == ("gpu1",)
    assert judgement.exit_status == 8


def test_what_did_not_run_is_unknown() -> None:
    judgement = judge_output(render_diagnostic(build_software_test(build_result(0, "Pass")), {"name": "memory"}))
    assert [verdict.outcome for verdict in judgement.verdicts] == ["passed", "unknown"]
    assert judgement.exit_status == 8


@pytest.mark.parametrize(
    ("output", "status", "reason"),
    [
        (
            format_json(
                {"DCGM Diagnostic": {"runtime_error": "Error: Diagnostic could\nnot be run", "version": "4.6.0"}}
            ),
            -54,
            "not be run",
        ),
        ("Error: unable to establish a connection to the specified host: localhost\n", -21, "DCGM returned -21"),
        (render_diagnostic(build_software_test(build_result(0, "Pass"))), -53, "DCGM returned -53"),
        (render_diagnostic(build_software_test(build_result(0, "Pass"))), -30, "no test says why"),
        (format_json({"entity_groups": []}), 0, "named no test"),
        ("", 0, "named no test"),
        (render_diagnostic(build_software_test(build_result(0, "Pass")))[:-30], 0, "another shape"),
    ],
)
def test_what_gives_no_results_is_unknown(output: str, status: int, reason: str) -> None:
    diagnostic = judge_output(output, status)
    assert reason in diagnostic.unread["gpu1"]
    assert diagnostic.exit_status == 8


@pytest.mark.parametrize(("offers", "code"), [({"gpu1": 2}, 0), ({"gpu1": 1}, 1), ({}, 8)])
def test_a_gpu_that_is_lost_under_load_is_a_failure(offers: dict[str, int], code: int) -> None:
    before = replace(ENGINES, members=(replace(FIRST, gpus=2),), unread={})
    judgement = judge_output(render_diagnostic(build_software_test(build_result(0, "Pass"))))
    assert add_losses(judgement, *compare_offers(before, offers)).exit_status == code

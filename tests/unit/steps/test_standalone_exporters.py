from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from gpustack.steps.standalone.exporters import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.judge import find_unknown, judge_checks, list_failures
from tests.worlds.snapshots.standalone import build_installed_answers, build_snapshot, judge, read_answers


def build_programs(*edits: tuple[str, str]) -> dict[tuple[str, str], Answer]:
    text = build_installed_answers()["standalone.programs", "w1"].stdout
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return place_answers("w1", make_answer("standalone.programs", text))


def test_a_prepared_host_passes() -> None:
    assert list_failures(judge(STEP)) == {}


def test_a_fresh_host_is_for_install() -> None:
    fresh = place_answers(
        "w1",
        read_case("standalone.programs", "nothing"),
        read_case("standalone.exported", "nothing"),
        read_case("gpu.host-engines", "fresh-debian-12"),
    )
    failures = list_failures(judge(STEP, fresh))
    assert set(failures) == {"packages-installed", "engine", "commands", "gpu-series", "node-series"}
    assert {cure for _, cure in failures.values()} == {"install"}


def test_a_host_without_gpus_has_node_exporter_alone() -> None:
    changed_answers = place_answers(
        "w1", make_answer("gpu.devices", ""), make_answer("standalone.exported", "gpus none\nnode yes\n")
    )
    assert list_failures(judge(STEP, changed_answers)) == {}


@pytest.mark.parametrize(
    ("old", "new", "check", "cure"),
    [
        ("prometheus-node-exporter loaded active enabled yes", "prometheus-node-exporter loaded active enabled no",
         "units-owned", "operator"),
        ("datacenter-gpu-manager-exporter hold", "datacenter-gpu-manager-exporter install",
         "packages-installed", "install"),
        ("-4-core hold installed 1:4.6.0-1", "-4-core hold installed 1:4.5.0-1", "pair", "upgrade"),
        ("nvidia-dcgm loaded active enabled", "nvidia-dcgm loaded active disabled", "engine", "install"),
        ("--address=127.0.0.1:9400", "--address=:9400", "commands", "install"),
    ],
)  # fmt: skip
def test_each_difference_has_its_cure(old: str, new: str, check: str, cure: str) -> None:
    failures = list_failures(judge(STEP, build_programs((old, new))))
    assert {name: failure[1] for name, failure in failures.items()} == {check: cure}


def test_an_engine_that_does_not_listen_is_a_fault_and_the_exporter_s_silence_is_not() -> None:
    stopped_programs = place_answers(
        "w1",
        read_case("gpu.host-engines", "fresh-debian-12"),
        make_answer("standalone.exported", "gpus none\nnode yes\n"),
    )
    judgements = judge(STEP, stopped_programs)
    faults = {name: judgement.result.fault for name, judgement in judgements.items() if judgement.result}
    assert faults == {"engine": "standalone-engine-down", "gpu-series": ""}


def test_an_exporter_that_is_silent_beside_its_engine_is_a_fault() -> None:
    stopped_exporters = place_answers("w1", make_answer("standalone.exported", "gpus none\nnode yes\n"))
    (result,) = (judgement.result for judgement in judge(STEP, stopped_exporters).values() if judgement.result)
    assert result.fault == "standalone-exporter-down"


def test_what_is_not_answered_is_unknown() -> None:
    assert find_unknown(judge_checks(STEP, build_snapshot(read_answers()), "w1")) >= {
        "units-owned",
        "packages-installed",
        "commands",
        "gpu-series",
    }


def test_a_missing_repository_is_for_install() -> None:
    changed_answers = {("gpu.repository", "w1"): replace(read_case("gpu.repository", "fresh-debian-12"), location="w1")}
    assert set(list_failures(judge(STEP, changed_answers))) == {"repository"}

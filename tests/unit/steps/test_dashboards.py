import json
from dataclasses import replace

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.dashboards.json_model import Dashboard
from gpustack.steps.dashboards import STEP, build_custom_config_maps, build_variables, read_dashboards
from tests.worlds.snapshots.answers import make_answer, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import build_answers, build_snapshot, judge, judge_steps
from tests.worlds.snapshots.judge import judge_checks, list_failures

MAPS = ("applied.config-maps", CLUSTER)


def edit_maps(*edits: tuple[str, str]) -> Answers:
    """Edit the healthy cluster's ConfigMaps; each word to replace must be there."""
    text = build_answers()[MAPS].stdout
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return {MAPS: make_answer(MAPS[0], text)}


def test_each_dashboard_is_a_config_map_of_one_file() -> None:
    assert {json.loads(text)["uid"] for text in read_dashboards().values()} == {
        f"gpustack-{name}" for name in read_dashboards()
    }


def test_missing_or_older_dashboards_are_for_install() -> None:
    assert list_failures(judge(STEP, {MAPS: read_case(MAPS[0], "none")})) == {
        "config-maps": (
            f"{', '.join(f'gpustack-dashboard-{name}' for name in read_dashboards())} missing",
            "install",
        )
    }
    folder = {"dashboards": {"folder": "Racks"}}
    ((actual, cure),) = list_failures(judge(STEP, spec=folder)).values()
    assert (actual.endswith("with different content"), cure) == (True, "install")


def test_an_edited_or_relabelled_dashboard_is_for_install() -> None:
    took = '"f:data":{"f:gpu-health.json":{}}}}'
    name = "gpustack-dashboard-gpu-health"
    assert list_failures(
        judge(STEP, edit_maps((took, f'"f:data":{{}}}}}},{{"manager":"kubectl-edit","fieldsV1":{{{took}')))
    ) == {"config-maps": (f"{name} changed by kubectl-edit", "install")}
    assert list_failures(judge(STEP, edit_maps(('"f:data":{"f:gpu-health.json":{}}', '"f:data":{}')))) == {
        "config-maps": (f"{name} changed by an unknown client", "install")
    }


def test_what_somebody_adds_beside_ours_stays() -> None:
    """A note on it is not taken away by applying it again: to complain of it would be for ever."""
    took = '"f:data":{"f:gpu-health.json":{}}}}'
    note = '{"manager":"kubectl-annotate","fieldsV1":{"f:metadata":{"f:annotations":{"f:note":{}}}}}'
    assert list_failures(judge(STEP, edit_maps((took, f"{took},{note}")))) == {}


def test_what_cannot_be_read_is_unknown() -> None:
    judgements = judge(STEP, {MAPS: read_case(MAPS[0], "forbidden")})
    assert {judgement.outcome for judgement in judgements.values()} == {"unknown"}


def test_where_they_are_not_wanted_there_is_no_such_step() -> None:
    assert judge_steps(STEP, spec={"dashboards": {"enabled": False}}) == []
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []


def test_a_config_map_of_the_same_name_elsewhere_is_another_one() -> None:
    answers = edit_maps(('"namespace":"monitoring"', '"namespace":"default"'))
    assert isinstance(answers[MAPS], Answer)
    assert "missing" in list_failures(judge(STEP, answers))["config-maps"][0]


def add_files(*boards: Dashboard, answers: Answers | None = None, **dashboards: object) -> Snapshot:
    """Build the healthy cluster whose spec names files."""
    snapshot = build_snapshot(answers, {"dashboards": {"files": ("mine.json",), **dashboards}})
    return replace(snapshot, inventory=replace(snapshot.inventory, dashboards=boards))


def test_dashboards_of_the_spec_are_config_maps_too() -> None:
    mine = Dashboard("mine", "own-mine", "Mine", '{"title":"Mine","uid":"own-mine"}')
    snapshot = add_files(mine)
    assert list_failures(judge_checks(STEP, snapshot)) == {
        "own-config-maps": ("gpustack-dashboard-own-mine missing", "install"),
    }
    (config_map,) = build_custom_config_maps(View(snapshot, CLUSTER))
    assert config_map["data"] == {"own-mine.json": mine.text}
    # Of theirs alone, ours go.
    failures = list_failures(judge_checks(STEP, add_files(mine, enabled=False)))
    assert failures["no-others"] == (", ".join(f"gpustack-dashboard-{name}" for name in read_dashboards()), "install")


def test_of_a_recording_those_of_the_spec_are_unknown() -> None:
    """A recording has no files: neither are they missing, nor is one that is there too many."""
    outcomes = {id: judgement.outcome for id, judgement in judge_checks(STEP, add_files()).items()}
    assert outcomes == {"config-maps": "ok", "own-config-maps": "unknown", "no-others": "unknown"}


def test_a_dashboard_that_is_no_longer_wanted_is_removed() -> None:
    listed_maps = json.loads(build_answers()[MAPS].stdout)
    further_map = {
        "name": "gpustack-dashboard-own-old",
        "namespace": "monitoring",
        "annotations": {},
        "managedFields": [],
    }
    listed_maps["items"].append({"metadata": further_map})
    answers = {MAPS: make_answer(MAPS[0], json.dumps(listed_maps))}
    assert list_failures(judge(STEP, answers)) == {"no-others": ("gpustack-dashboard-own-old", "install")}
    dropped_maps = build_variables(View(build_snapshot(answers), CLUSTER))["dropped"]
    assert dropped_maps == ["ConfigMap monitoring gpustack-dashboard-own-old"]
    # What cannot be read is not deleted.
    assert build_variables(View(build_snapshot({MAPS: read_case(MAPS[0], "forbidden")}), CLUSTER))["dropped"] == []

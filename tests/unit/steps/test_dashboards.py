import json

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.steps.dashboards import STEP, texts
from tests.worlds.cases import recorded, written
from tests.worlds.cluster import healthy, judged, states
from tests.worlds.judge import failures
from tests.worlds.snapshot import Answers

MAPS = ("applied.config-maps", CLUSTER)


def edited(*edits: tuple[str, str]) -> Answers:
    """The healthy cluster's ConfigMaps, with words replaced; each must be there."""
    out = healthy()[MAPS].out
    for old, new in edits:
        assert old in out, old
        out = out.replace(old, new)
    return {MAPS: written(MAPS[0], out)}


def test_each_dashboard_is_a_config_map_of_one_file() -> None:
    assert {json.loads(text)["uid"] for text in texts().values()} == {f"gpustack-{name}" for name in texts()}


def test_missing_or_older_ones_are_for_install() -> None:
    assert failures(judged(STEP, {MAPS: recorded(MAPS[0], "none")})) == {
        "config-maps": (
            f"{', '.join(f'gpustack-dashboard-{name}' for name in texts())} missing",
            "install",
        )
    }
    folder = {"dashboards": {"folder": "Racks"}}
    ((found, cure),) = failures(judged(STEP, spec=folder)).values()
    assert (found.endswith("with different content"), cure) == (True, "install")


def test_one_that_somebody_edited_or_relabelled() -> None:
    took = '"f:data":{"f:gpu-health.json":{}}}}'
    name = "gpustack-dashboard-gpu-health"
    assert failures(
        judged(STEP, edited((took, f'"f:data":{{}}}}}},{{"manager":"kubectl-edit","fieldsV1":{{{took}')))
    ) == {"config-maps": (f"{name} changed by kubectl-edit", "install")}
    assert failures(judged(STEP, edited(('"f:data":{"f:gpu-health.json":{}}', '"f:data":{}')))) == {
        "config-maps": (f"{name} changed by an unknown client", "install")
    }


def test_what_somebody_adds_beside_ours_stays() -> None:
    """A note on it is not taken away by applying it again: to complain of it would be for ever."""
    took = '"f:data":{"f:gpu-health.json":{}}}}'
    note = '{"manager":"kubectl-annotate","fieldsV1":{"f:metadata":{"f:annotations":{"f:note":{}}}}}'
    assert failures(judged(STEP, edited((took, f"{took},{note}")))) == {}


def test_what_cannot_be_read_is_unknown() -> None:
    found = judged(STEP, {MAPS: recorded(MAPS[0], "forbidden")})
    assert {one.outcome for one in found.values()} == {"unknown"}


def test_where_they_are_not_wanted_there_is_no_such_step() -> None:
    assert states(STEP, spec={"dashboards": {"enabled": False}}) == []
    assert states(STEP, spec={"monitoring": {"enabled": False}}) == []


def test_a_config_map_of_the_same_name_elsewhere_is_another_one() -> None:
    answers = edited(('"namespace":"monitoring"', '"namespace":"default"'))
    assert isinstance(answers[MAPS], Answer)
    assert "missing" in failures(judged(STEP, answers))["config-maps"][0]

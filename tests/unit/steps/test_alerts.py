import json

from gpustack.ask.probe import CLUSTER
from gpustack.steps.alerts import STEP, VENDOR, load_groups
from tests.worlds.snapshots.answers import make_answer, read_case
from tests.worlds.snapshots.cluster import build_answers, judge, judge_steps
from tests.worlds.snapshots.judge import list_failures

RULES, LOADED_GROUPS = ("applied.rules", CLUSTER), ("alerting.rules", CLUSTER)
UIDS = "0a1f7b5e-93a3-4f0c-9d3e-5d2f0f1d7c11", "5b0c2f6e-6a57-4f3f-8a08-1f7f0c0e5a77"
BOTH_FILES = "gpustack-gpu-alerts, gpustack-gpu-recording"


def test_missing_rules_are_for_install() -> None:
    for case in ("none", "unknown-kind"):
        assert list_failures(judge(STEP, {RULES: read_case(RULES[0], case)})) == {
            "rules": (f"{BOTH_FILES} missing", "install")
        }


def test_an_address_of_runbooks_is_another_content() -> None:
    failures = list_failures(judge(STEP, spec={"alerts": {"runbooks": "https://wiki.example/gpus"}}))
    assert failures == {"rules": ("gpustack-gpu-alerts with different content", "install")}


def test_edited_rules_are_for_install() -> None:
    text = build_answers()[RULES].stdout
    rules = r'"f:groups":{"k:{\"name\": \"gpustack-gpu-xid\"}":{".":{},"f:name":{},"f:rules":{}}'
    assert rules in text
    edited_text = text.replace(rules, rules.replace(',"f:rules":{}', ""))
    assert list_failures(judge(STEP, {RULES: make_answer(RULES[0], edited_text)})) == {
        "rules": ("gpustack-gpu-alerts changed by an unknown client", "install")
    }


def test_a_group_that_prometheus_has_not_read_is_waited_for() -> None:
    text = build_answers()[LOADED_GROUPS].stdout
    answer = make_answer(LOADED_GROUPS[0], text.replace('"gpustack-gpu-xid"', '"else"'))
    assert list_failures(judge(STEP, {LOADED_GROUPS: answer})) == {"rules-loaded": ("no gpustack-gpu-xid", "install")}
    document = json.loads(text)
    (usage,) = [group for group in document["data"]["groups"] if group["name"] == "gpustack-gpu-usage"]
    usage["rules"].pop()
    fewer = make_answer(LOADED_GROUPS[0], json.dumps(document))
    mismatch = judge(STEP, {LOADED_GROUPS: fewer})["rules-loaded"].result
    assert mismatch
    assert (mismatch.actual, mismatch.passing) == ("no gpustack-gpu-usage", True)


def test_rules_of_another_release_and_of_others_are_for_the_operator() -> None:
    """An earlier release recorded a series that today's does not have; the other object repeats one of each."""
    recorded_answer = read_case(LOADED_GROUPS[0], "twice")
    actual, cure = list_failures(judge(STEP, {LOADED_GROUPS: recorded_answer}))["rules-once"]
    assert cure == "operator"
    assert actual.split("; ") == [
        f"1 in default-gpustack-gpu-recording-{UIDS[0]}.yaml, such as gpustack:gpu_seen:max1d",
        f"2 in team-a-gpus-{UIDS[1]}.yaml, such as GpuLost",
    ]


def test_who_cannot_be_asked_makes_it_unknown() -> None:
    judgements = judge(
        STEP, {RULES: read_case(RULES[0], "forbidden"), LOADED_GROUPS: read_case(LOADED_GROUPS[0], "error")}
    )
    assert {judgement.outcome for judgement in judgements.values()} == {"unknown"}


def test_each_alert_leads_to_a_page_that_can_be_opened_and_to_the_command() -> None:
    rules = [
        rule for groups in load_groups("").values() for group in groups for rule in group["rules"] if "alert" in rule
    ]
    assert rules
    assert {rule["annotations"]["runbook_url"] for rule in rules} == {VENDOR}
    assert all(rule["annotations"]["runbook"].startswith("gpustack explain alert-") for rule in rules)
    own_rules = [
        rule
        for groups in load_groups("https://w/x").values()
        for group in groups
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert all(
        rule["annotations"]["runbook_url"].removeprefix("https://w/x#")
        == rule["annotations"]["runbook"].removeprefix("gpustack explain alert-")
        for rule in own_rules
    )


def test_where_they_are_not_wanted_there_is_no_such_step() -> None:
    assert judge_steps(STEP, spec={"alerts": {"enabled": False}}) == []
    assert judge_steps(STEP, spec={"monitoring": {"enabled": False}}) == []

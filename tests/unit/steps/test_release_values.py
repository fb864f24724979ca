"""The keys in which the values of a release differ are named, and no value of the cluster is."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.probes.helm import VALUES
from gpustack.steps.monitoring.step import STEP
from gpustack.steps.monitoring.values import build_release
from gpustack.steps.release_values import LABEL, compute_value_digests, describe_value_differences
from tests.unit.steps.value_layers import layers
from tests.worlds.snapshots.cluster import build_answers, build_snapshot, judge

SPEC_VALUES: dict[str, Any] = {
    "prometheus": {"retention": "30d", "args": ["--a", "--b"]},
    "grafana": {"grafana.ini": {"security": {"cookie_samesite": "lax"}}, "admin": {"passwordKey": "key-of-secret"}},
    "tolerations": {},
}


def describe(**changed_values: Any) -> str:
    return describe_value_differences(SPEC_VALUES, compute_value_digests(SPEC_VALUES | changed_values))


@pytest.mark.parametrize(
    ("changed_values", "expected"),
    [
        ({}, ""),
        ({"prometheus": {"retention": "10d", "args": ["--a", "--b"]}}, 'prometheus.retention is not "30d"'),
        ({"prometheus": {"retention": "30d", "args": ["--b"]}}, 'prometheus.args is not ["--a", "--b"]'),
        ({"prometheus": {"retention": "30d"}}, "prometheus.args is missing"),
        ({"extra": {"key": "theirs"}}, "extra.key is not in the spec"),
        ({"tolerations": {"a/b": 1}}, "tolerations is not {}"),
        ({"prometheus": {"retention": "30d", "args": ["--a", "--b"], "a" * 70: 1}}, "prometheus is not in the spec"),
    ],
)
def test_a_difference_names_its_key_and_the_value_of_the_spec(changed_values: dict[str, Any], expected: str) -> None:
    assert describe(**changed_values) == expected


def test_many_differences_are_counted() -> None:
    text = describe(extra={f"key{number}": number for number in range(9)})
    assert text.endswith("extra.key4 is not in the spec, 4 keys more")


def test_a_long_value_is_not_shown() -> None:
    assert describe_value_differences({"a": "x" * 99}, compute_value_digests({"a": 1})) == "a is not that of the spec"


def test_a_key_named_after_a_secret_has_no_digest() -> None:
    """A short text could be guessed from its digest, and a long one that is known be confirmed."""
    first, second = ({"admin": {"password": text}, "b": 1} for text in ("hunter2", "hunter3"))
    assert compute_value_digests(first) == compute_value_digests(second) == {"admin.password": "x", "b": "6b86"}


def test_a_release_without_digests_does_not_tell() -> None:
    assert describe_value_differences(SPEC_VALUES, {}) == ""


@given(layers)
def test_every_key_can_be_a_label(values: dict[str, Any]) -> None:
    digests = compute_value_digests(values)
    assert all(LABEL.fullmatch(name) and re.fullmatch("[0-9a-f]{4}|x", digest) for name, digest in digests.items())
    assert describe_value_differences(values, digests) == ""


def test_our_own_values_fit_into_labels() -> None:
    """A key whose name is too long for a label counts for the key above it."""
    view = View(build_snapshot({}), CLUSTER)
    digests = compute_value_digests(build_release(view).values)
    assert "prometheus.prometheusSpec.retention" in digests
    assert "prometheus.prometheusSpec" in digests


def test_plan_names_the_value_that_differs() -> None:
    view = View(build_snapshot({}), CLUSTER)
    digests = compute_value_digests(build_release(view).values) | {"prometheus.prometheusSpec.retention": "0000"}
    place = ("helm.releases", CLUSTER)
    answer = build_answers()[place]
    document = json.loads(answer.stdout)
    for secret in document["items"]:
        labels = secret["metadata"]["labels"]
        labels |= {f"{VALUES}{key}": f"{digest}.{labels['version']}" for key, digest in digests.items()}
        labels["gpustack-digest"] = "0"
    mismatch = judge(STEP, {place: replace(answer, stdout=json.dumps(document))})["chart"].result
    assert mismatch
    assert mismatch.actual.startswith("different values: prometheus.prometheusSpec.retention is not ")

"""Paths have their answers, or a reason why there is none."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpustack.serve.measures import MEASURES
from gpustack.serve.models import Values
from gpustack.serve.moment import Moment
from gpustack.serve.openapi import render_openapi
from gpustack.serve.refusal import Refusal, render_problem
from gpustack.serve.routes import ROUTES, respond
from tests.worlds.prometheus.gpu_series import BUSY, HEALTHY, build_gpu_series
from tests.worlds.prometheus.moments import NAN, build_labels, make_moment, make_served_series

SERVED_MOMENT = make_moment(make_served_series())


def get(target: str, moment: Moment = SERVED_MOMENT) -> Any:
    return json.loads(respond(target, lambda: moment, render_openapi))


def refuse(target: str, moment: Moment = SERVED_MOMENT) -> tuple[int, str, str]:
    with pytest.raises(Refusal) as excinfo:
        respond(target, lambda: moment, render_openapi)
    return excinfo.value.status, excinfo.value.reference, excinfo.value.reason


def test_a_value_has_its_unit_time_and_age() -> None:
    """The age goes on after Prometheus was asked."""
    began = time.monotonic()
    response = get("/v1/gpus/GPU-gpu1-0/sm", replace(SERVED_MOMENT, monotonic_time=began - 3))
    assert 13 <= response.pop("age_seconds") <= 13.001 + time.monotonic() - began
    assert response == {"value": 0.85, "unit": "ratio", "measured_at": "1970-01-01T00:16:40Z", "warnings": []}


def test_values_that_cannot_both_be_true_are_not_served() -> None:
    """Counters that stand still would scale a service down to nothing (NVIDIA/dcgm-exporter#662)."""
    dead_counters = {name: 0 for name in BUSY if name.startswith("PROF_")}
    series = build_gpu_series("gpu1", 0, build_labels("team-a", "vllm-a"), **BUSY | dead_counters, GPU_UTIL=99)
    status, reference, reason = refuse("/v1/pods/team-a/vllm-a/sm", make_moment(series))
    assert (status, reference) == (404, "serve-not-measured")
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_GPU_UTIL is 99 %: both cannot be true" in reason
    assert get("/v1/pods/team-a/vllm-a/power", make_moment(series))["value"] == 640


def test_a_gpu_is_served_with_its_values() -> None:
    response = get("/v1/gpus/GPU-gpu1-0")
    assert (response["node"], response["index"], response["model"]) == ("gpu1", "0", "NVIDIA H100 80GB HBM3")
    assert response["owners"] == [{"namespace": "team-a", "pod": "vllm-7d9-x2k", "container": None}]
    units = {name: response[name]["unit"] for name in MEASURES}
    shares = dict.fromkeys(("engine", "sm", "tensor", "dram"), "ratio")
    memory, power = (
        dict.fromkeys(("memory_used", "memory_total"), "bytes"),
        dict.fromkeys(("power", "power_limit"), "watts"),
    )
    assert units == shares | memory | power | {"temperature": "celsius"}
    assert response["memory_used"]["value"] == 60000 * 2**20
    assert get("/v1/gpus/GPU-gpu2-2")["owners"] == []


def test_a_pod_has_the_mean_of_shares_and_the_sum_of_power() -> None:
    response = get("/v1/pods/team-a/vllm-7d9-q8f")
    assert response["pod_names"] == ["vllm-7d9-q8f"]
    assert [gpu["uuid"] for gpu in response["gpus"]] == ["GPU-gpu1-1", "GPU-gpu1-2"]
    assert (response["sm"]["value"], response["power"]["value"], response["temperature"]["value"]) == (0.45, 640, 40)


def test_a_star_stands_for_all_pods_whose_name_begins_so() -> None:
    """Pods of a Deployment have new names with every roll-out."""
    response = get("/v1/pods/team-a/vllm-*")
    assert response["pod_names"] == ["vllm-7d9-q8f", "vllm-7d9-x2k"]
    assert response["sm"]["value"] == pytest.approx((0.85 + 2 * 0.45) / 3)
    assert get("/v1/pods/team-a/*/power")["value"] == 1280
    assert refuse("/v1/pods/team-b/vllm-*")[:2] == (404, "serve-no-pod")
    assert refuse("/v1/pods/team-a/vllm-")[:2] == (404, "serve-no-pod")


def test_what_one_gpu_of_a_pod_does_not_measure_is_no_value_of_the_pod() -> None:
    response = get("/v1/pods/team-b/train-0")["sm"]
    assert (response["value"], response["measured_at"], response["age_seconds"], response["unit"]) == (
        None,
        None,
        None,
        "ratio",
    )
    assert response["reason"].startswith(
        "The exporter sends no DCGM_FI_PROF_SM_ACTIVE of GPU-gpu2-1. Absent on: consumer"
    )
    status, reference, reason = refuse("/v1/pods/team-b/train-0/sm")
    assert (status, reference, reason) == (404, "serve-not-measured", response["reason"])


def test_a_value_is_as_old_as_the_oldest_that_it_is_made_of() -> None:
    old = [
        replace(series, points=((970.0, series.points[0][1]),))
        for series in build_gpu_series("gpu1", 1, build_labels("a", "b"), **BUSY)
    ]
    moment = make_moment(build_gpu_series("gpu1", 0, build_labels("a", "b"), **BUSY), old)
    assert get("/v1/pods/a/b/power", moment)["measured_at"] == "1970-01-01T00:16:10Z"
    parts = {"FB_TOTAL": NAN, "FB_USED": 1.0, "FB_FREE": 2.0, "FB_RESERVED": 3.0}
    series = [
        replace(series, points=((980.0, 2.0),)) if "FREE" in series.labels["__name__"] else series
        for series in build_gpu_series("gpu1", 0, **parts)
    ]
    total = get("/v1/gpus/GPU-gpu1-0/memory_total", make_moment(series))
    assert (total["value"], total["measured_at"]) == (6 * 2**20, "1970-01-01T00:16:20Z")


def test_zero_is_a_value() -> None:
    assert get("/v1/gpus/GPU-gpu1-0/sm", make_moment(build_gpu_series("gpu1", 0, PROF_SM_ACTIVE=0.0)))["value"] == 0


def test_instances_are_named_by_a_parameter() -> None:
    assert get("/v1/gpus/GPU-gpu3-0?instance=7")["profile"] == "1g.10gb"
    status, reference, reason = refuse("/v1/gpus/GPU-gpu3-0/sm")
    assert (status, reference) == (404, "serve-no-gpu")
    assert "Its MIG instances are 7, 8" in reason
    assert "with an instance 9" in refuse("/v1/gpus/GPU-gpu3-0?instance=9")[2]


@pytest.mark.parametrize(("other_pod", "power"), [("small", 314), ("other", None)])
def test_the_power_of_a_board_counts_once_or_for_no_pod(other_pod: str, power: float | None) -> None:
    """A MIG instance has the power of its board."""
    moment = make_moment(
        *(
            build_gpu_series(
                "gpu3", 0, build_labels("team-c", pod, GPU_I_ID=number), **BUSY | {"POWER_USAGE": 314, "FB_TOTAL": 10}
            )
            for pod, number in (("small", "7"), (other_pod, "8"))
        )
    )
    response = get("/v1/pods/team-c/small", moment)
    assert response["power"]["value"] == power
    assert response["memory_total"]["value"] == (20 if power else 10) * 2**20
    assert get("/v1/gpus/GPU-gpu3-0/power?instance=7", moment)["value"] == 314
    if power is None:
        assert "which several pods share" in response["power"]["reason"]
        assert refuse("/v1/pods/team-c/small/power", moment)[1] == "serve-not-measured"


def test_a_gpu_without_uuid_is_found_by_node_and_index() -> None:
    assert get("/v1/gpus/gpu1:0/sm", make_moment(build_gpu_series("gpu1", 0, {"UUID": ""}, **BUSY)))["value"] == 0.85


def test_gpus_pods_and_nodes_are_listed() -> None:
    assert len(get("/v1/gpus")["gpus"]) == 8
    assert [gpu["index"] for gpu in get("/v1/gpus?node=gpu2")["gpus"]] == ["0", "1", "2"]
    assert [pod["pod"] for pod in get("/v1/pods")["pods"]] == ["vllm-7d9-q8f", "vllm-7d9-x2k", "train-0", "small"]
    assert [pod["pod"] for pod in get("/v1/pods?namespace=team-b")["pods"]] == ["train-0"]


@pytest.mark.parametrize(
    "target", ["/v1/gpus?node=gpu9", "/v1/pods?namespace=team-z", "/v1/gpus/GPU-x", "/v1/pods/a/b"]
)
def test_an_empty_list_is_not_mistaken_for_none_in_use(target: str) -> None:
    assert refuse(target)[0] == 404


def test_exporters_that_do_not_ask_the_kubelet_are_the_reason() -> None:
    for target in ("/v1/pods", "/v1/pods/team-a/x/sm"):
        assert "do not ask the kubelet" in refuse(target, make_moment(build_gpu_series("gpu1", 0)))[2]


def test_a_unit_that_is_not_proven_is_the_reason() -> None:
    doubt = "DCGM_FI_PROF_SM_UTIL_RATIO: its unit is not known"
    moment = replace(make_moment(build_gpu_series("gpu1", 0, **dict.fromkeys(HEALTHY, 1.0))), doubts=(doubt,))
    assert refuse("/v1/gpus/GPU-gpu1-0/sm", moment)[2] == f"{doubt}."
    assert get("/v1/gpus/GPU-gpu1-0", moment)["warnings"] == [doubt]


@pytest.mark.parametrize(
    ("target", "status", "reference", "word"),
    [
        ("/", 404, "serve-path", "/v1/gpus/{uuid}"),
        ("/v1/gpus/", 404, "serve-path", ""),
        ("/v1/pods/a", 404, "serve-path", ""),
        ("/v1/pods/a/b/c/d", 404, "serve-path", ""),
        ("/v1/gpus/GPU-gpu1-0/heat", 404, "serve-path", "no value heat: there are engine, sm"),
        ("/v1/gpus?nodes=gpu1", 400, "serve-parameter", "no parameter nodes: it takes node"),
        ("/v1/gpus?node=", 400, "serve-parameter", "empty"),
        ("/v1/gpus?node=a&node=b", 400, "serve-parameter", "twice"),
        ("/healthz?x=1", 400, "serve-parameter", "takes none"),
        ("/v1/pods/a/b?instance=1", 400, "serve-parameter", "instance"),
        ("/v1/gpus?node", 400, "serve-request", "decoded"),
        ("/v1/gpus?" + "&".join(f"a{n}=1" for n in range(9)), 400, "serve-request", ""),
        ("/v1/gpus/%ff", 400, "serve-request", "decoded"),
        ("http://[::1/v1/gpus", 400, "serve-request", ""),
        ("/v1/gpus/GPU-%1b[31m" + "x" * 500, 404, "serve-no-gpu", "…"),
        ("/v1/gpus/..%2f..%2fetc%2fpasswd", 404, "serve-no-gpu", ""),
    ],
)
def test_malformed_requests_are_refused(target: str, status: int, reference: str, word: str) -> None:
    refusal = refuse(target)
    assert refusal[:2] == (status, reference)
    assert word in refusal[2]
    assert refusal[2].isprintable()
    assert len(refusal[2]) < 300


def test_a_name_that_is_encoded_is_decoded_once() -> None:
    moment = make_moment(build_gpu_series("gpu1", 0, build_labels("team a", "50%25"), **BUSY))
    assert get("/v1/pods/team%20a/50%2525/sm", moment)["value"] == 0.85


def test_names_of_labels_are_clean() -> None:
    moment = make_moment(build_gpu_series("gpu\x1b[31m1", 0, build_labels("a", "b\u202e\x07"), **BUSY))
    for target in ("/v1/gpus", "/v1/pods"):
        text = respond(target, lambda: moment, render_openapi)
        assert not {"\x1b", "\u202e", "\x07"} & set(text)
        assert "\\u001b" not in text


@given(st.text(max_size=60) | st.text("/%?&={}*+:.v1gpusod", max_size=60))
@example("/v1/pods/{namespace}/{pod}/sm")
@example("//")
@example("/v1/gpus/\udcff")
def test_any_target_is_answered_or_refused(target: str) -> None:
    try:
        json.loads(respond(target, lambda: SERVED_MOMENT, render_openapi))
    except Refusal as refusal:
        document = json.loads(render_problem(refusal))
        assert document["status"] in (400, 404)
        assert document["detail"].isprintable()


def test_documents_have_every_value() -> None:
    assert list(Values.model_fields) == list(MEASURES)
    assert {route.path.split("/")[1] for route in ROUTES} == {"v1"}

"""GPU by GPU: what is marked broken or unknown is exactly what does not hold."""

from dataclasses import replace

import pytest

from gpustack.proof.chain import PanelComparison, ProofAnswers, judge
from gpustack.proof.prometheus import Scrape
from gpustack.proof.workload import PodResult
from tests.unit.proof.proof_inputs import (
    GPUS,
    STEP,
    TIME,
    UUIDS,
    build_comparison,
    build_pod,
    build_sample,
    build_series,
    format_target,
    judge_marks,
    make_answers,
    place,
)

ALL_SAMPLES = [build_sample(number) for number in range(4)]
PODS = [build_pod(number) for number in range(4)]
GOOD = ["gpu1 00 ooo", "gpu1 01 ooo", "gpu2 00 ooo", "gpu2 01 ooo"]


def replace_mark(number: int, mark: str) -> list[str]:
    """Replace the mark of one GPU; all others are good."""
    return [mark if index == number else first for index, first in enumerate(GOOD)]


def swap_gpus(first: int, second: int) -> ProofAnswers:
    """Swap two GPUs in the exporters only: each says of its GPU that it is the other one."""
    samples = list(ALL_SAMPLES)
    samples[first], samples[second] = (
        replace(ALL_SAMPLES[first], uuid=UUIDS[second]),
        replace(ALL_SAMPLES[second], uuid=UUIDS[first]),
    )
    return make_answers(samples)


def lose_gpu(*, recent: bool) -> ProofAnswers:
    """Let the second GPU of gpu1 fall off the bus: one less is allocatable, its series has ended."""
    old = [replace(ALL_SAMPLES[1], timestamp=TIME - 90, owner="")] if recent else []
    places = (place("gpu1", allocatable=1), place("gpu2"))
    samples = [ALL_SAMPLES[0], *old, *ALL_SAMPLES[2:]]
    return make_answers(samples, [PODS[0], *PODS[2:]], places=places)


def test_good_answers_prove_every_gpu() -> None:
    rows = judge(make_answers())
    assert judge_marks(make_answers()) == GOOD
    assert [(row.uuid, row.node, row.bus) for row in rows] == list(GPUS)
    assert {link.reason + link.note for row in rows for _, link in row.links} == {""}


@pytest.mark.parametrize(
    ("proof_answers", "expected"),
    [
        (swap_gpus(0, 1), ["gpu1 00 ofo", "gpu1 01 ofo", *GOOD[2:]]),
        (swap_gpus(1, 2), [GOOD[0], "gpu1 01 ofo", "gpu2 00 ofo", GOOD[3]]),
        (
            make_answers([*ALL_SAMPLES[:3], replace(ALL_SAMPLES[3], timestamp=TIME - 2 * STEP - 10)]),
            replace_mark(3, "gpu2 01 ofo"),
        ),
        (make_answers([*ALL_SAMPLES[:3], replace(ALL_SAMPLES[3], timestamp=TIME - 2 * STEP)]), GOOD),
        (make_answers(ALL_SAMPLES[:3]), replace_mark(3, "gpu2 01 ofu")),
        (lose_gpu(recent=False), replace_mark(1, "gpu1 -- fuu")),
        (lose_gpu(recent=True), replace_mark(1, "gpu1 01 ffo")),
        (make_answers(refusal="no such host"), [first[:-1] + "f" for first in GOOD]),
        (make_answers(comparison="Grafana did not answer"), [first[:-1] + "u" for first in GOOD]),
        (
            make_answers(series="Prometheus did not answer", comparison="not asked"),
            [first[:-2] + "uu" for first in GOOD],
        ),
        (make_answers(comparison=PanelComparison({}, {})), [first[:-1] + "f" for first in GOOD]),
    ],
    ids=[
        "swapped-on-a-node",
        "swapped-between-nodes",
        "scrape-delayed",
        "two-scrapes-old",
        "no-series",
        "lost-long-ago",
        "lost-lately",
        "data-source-elsewhere",
        "no-grafana",
        "no-prometheus",
        "panel-of-another-prometheus",
    ],
)
def test_exactly_the_broken_links_fail(proof_answers: ProofAnswers, expected: list[str]) -> None:
    assert judge_marks(proof_answers) == expected


def test_another_value_in_the_panel_is_found() -> None:
    right = build_comparison(ALL_SAMPLES)
    wrong = PanelComparison({**right.panel, UUIDS[2]: (TIME - 5, 99.0)}, right.truth)
    rows = judge(make_answers(comparison=wrong))
    assert judge_marks(make_answers(comparison=wrong)) == replace_mark(2, "gpu2 00 oof")
    assert rows[2].panel.reason == "the dashboard shows 99, and Prometheus has 42 at that time"


def test_why_a_scrape_failed_is_reported() -> None:
    old = [*ALL_SAMPLES[:2], *(replace(first, timestamp=TIME - 60) for first in ALL_SAMPLES[2:])]
    scrapes = {format_target("gpu1"): Scrape(STEP), format_target("gpu2"): Scrape(STEP, "connection refused")}
    proof_answers = make_answers(series=replace(build_series(old), scrapes=scrapes))
    assert judge(proof_answers)[3].series.reason == (
        "its newest sample is 60 s old, and it is scraped every 15 s; the last scrape failed: connection refused"
    )


def test_gpus_in_use_are_left_alone() -> None:
    """A pod that the exporter names uses one GPU, an unknown user the other."""
    samples = [
        ALL_SAMPLES[0],
        replace(ALL_SAMPLES[1], owner="default/train-0"),
        ALL_SAMPLES[2],
        replace(ALL_SAMPLES[3], owner=""),
    ]
    places = (place("gpu1", busy=1), place("gpu2", busy=1))
    proof_answers = make_answers(samples, [PODS[0], PODS[2]], places=places)
    assert [first.pod_count for first in places] == [1, 1]
    assert judge_marks(proof_answers) == [GOOD[0], "gpu1 01 soo", GOOD[2], "gpu2 01 soo"]
    assert [row.kernel.reason for row in judge(proof_answers)] == ["", "in use by default/train-0", "", "in use"]


def test_a_pod_of_ours_is_no_user() -> None:
    """The exporter says of a GPU that no pod met that our pod uses it: that is not whom it was left to."""
    samples = [ALL_SAMPLES[0], replace(ALL_SAMPLES[1], owner="gpustack-proof/proof-0"), *ALL_SAMPLES[2:]]
    for busy, mark, reason in ((0, "u", "it was dealt out to no pod"), (1, "s", "in use")):
        proof_answers = make_answers(samples, [PODS[0], *PODS[2:]], places=(place("gpu1", busy=busy), place("gpu2")))
        assert judge_marks(proof_answers) == replace_mark(1, f"gpu1 01 {mark}oo")
        assert judge(proof_answers)[1].kernel.reason == reason


def test_without_gpus_there_are_no_rows() -> None:
    assert judge(ProofAnswers((), (), build_series([]), build_comparison([]))) == ()


def test_devices_that_no_node_offers_fail() -> None:
    proof_answers = ProofAnswers(
        (place("gpu1", gpus=0, capacity=0, allocatable=0),), (), build_series([]), build_comparison([])
    )
    assert judge_marks(proof_answers) == ["gpu1 -- fuu", "gpu1 -- fuu"]
    assert judge(proof_answers)[0].kernel.reason == "the host has 2 NVIDIA devices, the node offers 0"


@pytest.mark.parametrize(("stage", "mark"), [("ended", "f"), ("stuck", "u")])
def test_a_pod_that_met_no_gpu_fails_its_row(stage: str, mark: str) -> None:
    bad = PodResult("proof-1", "gpu1", stage, "in the kubelet's words")  # type: ignore[arg-type]
    proof_answers = make_answers(ALL_SAMPLES, [PODS[0], bad, *PODS[2:]])
    assert judge_marks(proof_answers) == replace_mark(1, f"gpu1 01 {mark}oo")
    assert judge(proof_answers)[1].kernel.reason == "in the kubelet's words"
    blind = replace(proof_answers, series="Prometheus did not answer", comparison="not asked")
    assert judge_marks(blind) == ["gpu1 00 ouu", f"gpu1 -- {mark}uu", "gpu2 00 ouu", "gpu2 01 ouu"]


def test_a_pod_that_sees_two_gpus_proves_neither() -> None:
    result_of_pod = PodResult("proof-0", "gpu1", "held", "it sees 2", ran=False, gpus=(*PODS[0].gpus, *PODS[1].gpus))
    proof_answers = make_answers(ALL_SAMPLES, [result_of_pod, *PODS[1:]])
    assert judge_marks(proof_answers) == replace_mark(0, "gpu1 00 foo")


def test_a_failed_kernel_fails_its_row() -> None:
    proof_answers = make_answers(ALL_SAMPLES, [replace(PODS[0], ran=False, reason="it said FAILED"), *PODS[1:]])
    assert judge_marks(proof_answers) == replace_mark(0, "gpu1 00 foo")


def test_time_slicing_counts_each_gpu_once() -> None:
    """Two of four pods were given the same GPU: it counts once, and the other GPU is not known."""
    shared_node = place("gpu1", capacity=8, allocatable=8, replicas=4)
    assert shared_node.pod_count == 2
    assert judge_marks(make_answers(ALL_SAMPLES, PODS, places=(shared_node, place("gpu2")))) == GOOD
    twice = [PODS[0], replace(PODS[0], name="proof-1"), *PODS[2:]]
    proof_answers = make_answers(ALL_SAMPLES, twice, places=(shared_node, place("gpu2")))
    assert judge_marks(proof_answers) == replace_mark(1, "gpu1 01 uoo")
    withdrawn = make_answers(ALL_SAMPLES, twice, places=(replace(shared_node, allocatable=7), place("gpu2")))
    assert judge_marks(withdrawn) == replace_mark(1, "gpu1 01 foo")


def test_mig_devices_of_one_gpu_are_one_row() -> None:
    split = place("gpu1", gpus=None, capacity=3, allocatable=3, devices=1)
    pods = [replace(PODS[0], name=f"proof-{index}") for index in range(3)]
    assert split.pod_count == 3
    assert judge_marks(make_answers([ALL_SAMPLES[0]], pods, places=(split,))) == GOOD[:1]


def test_a_closed_node_gets_no_pod_and_is_not_known() -> None:
    closed_node = place("gpu1", closed_reason="the node is cordoned", allocatable=1)
    assert closed_node.pod_count == 0
    assert judge_marks(make_answers(ALL_SAMPLES, PODS[2:], places=(closed_node, place("gpu2")))) == [
        "gpu1 00 uoo",
        "gpu1 01 uoo",
        *GOOD[2:],
    ]


def test_what_is_worth_knowing_is_a_note() -> None:
    twice = [*ALL_SAMPLES, build_sample(0, target="mine gpu1:9400")]
    assert judge(make_answers(twice, comparison=build_comparison(ALL_SAMPLES)))[0].series.note == (
        "it is scraped twice, as mine gpu1:9400 and nvidia-dcgm-exporter gpu1:9400"
    )
    assert (
        judge(make_answers([build_sample(0, owner=""), *ALL_SAMPLES[1:]]))[0].series.note
        == "the exporter names no pod that uses it"
    )
    old_pod = [*ALL_SAMPLES, build_sample(0, timestamp=TIME - 100, target="nvidia-dcgm-exporter old:9400")]
    assert judge(make_answers(old_pod, comparison=build_comparison(ALL_SAMPLES)))[0].series.note == ""

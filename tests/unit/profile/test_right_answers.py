"""The made profiles of tests/worlds/profiles have their right answers: class, confidence, and what has to be named."""

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpustack.profile.analysis import Analysis, analyze
from gpustack.profile.classify import Verdict, classify
from gpustack.profile.file import build_profile
from gpustack.profile.phases import cut_job, join_jobs
from gpustack.profile.window import Job
from tests.unit.profile.right_answers import (
    NAMES,
    add_noise,
    change_windows,
    drop_field,
    list_without_fields,
    read_made_profile,
    swap_boards,
)
from tests.worlds.prometheus.workloads import MECHANISMS, make_job

CONFIDENCES = ("none", "low", "medium", "high")
# Models with the power limit, the highest clock, and the peaks of PCIe and NVLink, each one way: NVIDIA's data sheets.
BOARDS = {
    "NVIDIA A100-SXM4-80GB": (400, 1.41e9, 31.5e9, 300e9),
    "NVIDIA H200": (700, 1.98e9, 63e9, 450e9),
    "NVIDIA B200": (1000, 1.965e9, 63e9, 900e9),
    "NVIDIA L40S": (350, 2.52e9, 31.5e9, 1.0),
}


@dataclass(frozen=True)
class Answer:
    """Describe the right answer: `named_parts` are in the title, notes or reasons, `refused_words` in no advice."""

    id: str
    confidence: str
    named_parts: tuple[str, ...] = ()
    refused_words: tuple[str, ...] = ()


ANSWERS = {
    "all-reduce-over-ethernet": Answer(
        "unseen-communication", "medium", ("network", "launch"), ("host memory", "Larger batches")
    ),
    "all-to-all-over-network": Answer("network-bound", "medium", ("over the network",), ("host memory",)),
    "clocks-locked-1200": Answer("tensor-bound", "medium", ("1,198 of 1,980 MHz", "-d CLOCK")),
    "collective-hang": Answer("waiting", "high", ("wait", "hang", "for 4 min, since 2026-11-18 "), ("batches",)),
    "dead-profiling-counters": Answer("not-measured", "none", ("engine is 0 %", "utilisation is 98 %", "641 of 700 W")),
    "one-of-eight-unused": Answer("partly-idle", "high", ("GPU 7 does nothing", "other 7 GPUs work")),
    "pauses-of-30-s": Answer(
        "tensor-bound", "high", ("pause 2 times for 30 s, 25 % of the time", "4.0 GB/s go to the host")
    ),
    "pipeline-bubbles": Answer("alternating", "high", ("in turn", "25 % of their time is lost")),
    "power-limit-350": Answer(
        "power-limited", "high", ("350 of 700 W", "below the board's default", "1,152 of 1,980 MHz")
    ),
    "spin": Answer("waiting", "low", ("wait", "spin", "hang"), ("batches",)),
    "straggler": Answer("imbalanced", "high", ("GPU 3", "clock 898 of 1,980 MHz", "the others 1,754 MHz")),
}


def judge(job: Job) -> Verdict:
    return analyze_job(job).verdict


def analyze_job(job: Job) -> Analysis:
    return analyze(build_profile(job, "team-a/train-0", "", 1795000000.0, 1795000240.0))


def list_texts(verdict: Verdict) -> str:
    return "\n".join((verdict.title, *verdict.notes, *verdict.reasons))


def test_every_made_profile_has_an_answer() -> None:
    assert set(NAMES) == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_made_profile_gets_its_right_answer(name: str) -> None:
    answer, verdict = ANSWERS[name], analyze(read_made_profile(name)).verdict
    assert (verdict.id, verdict.confidence) == (answer.id, answer.confidence)
    assert [part for part in answer.named_parts if part not in list_texts(verdict)] == []
    assert [word for word in answer.refused_words if word in " ".join(verdict.advice)] == []


def test_most_right_answers_have_high_confidence() -> None:
    answers = [answer for answer in ANSWERS.values() if answer.confidence != "none"]
    assert sum(answer.confidence == "high" for answer in answers) / len(answers) >= 0.6


def test_the_known_remedy_of_dead_counters_is_a_restart_of_the_engine() -> None:
    advice = " ".join(analyze(read_made_profile("dead-profiling-counters")).verdict.advice)
    assert "Restart the DCGM host engine" in advice
    assert "rollout restart daemonset nvidia-dcgm-exporter" in advice


def test_what_only_a_network_card_sees_stays_open() -> None:
    for name, cause in (
        ("all-reduce-over-ethernet", "launch-bound"),
        ("all-to-all-over-network", "communication-bound"),
    ):
        verdict = analyze(read_made_profile(name)).verdict
        assert [id for id, _ in verdict.alternatives] == [cause]
        assert "network cards" in verdict.alternatives[0][1]
        assert verdict.second != "pcie-bound"


def test_pauses_are_stretches() -> None:
    analysis = analyze(read_made_profile("pauses-of-30-s"))
    assert [(stretch.verdict.id, round(stretch.seconds)) for stretch in analysis.stretches] == [
        ("tensor-bound", 90),
        ("pause", 30),
        ("tensor-bound", 90),
        ("pause", 30),
    ]


def test_a_spin_has_no_advice_but_what_would_tell() -> None:
    verdict = analyze(read_made_profile("spin")).verdict
    assert verdict.advice == ()
    assert {"launch-bound", "unseen-communication"} == {id for id, _ in verdict.alternatives}


@pytest.mark.parametrize("model", BOARDS)
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_the_same_on_another_board(name: str, model: str) -> None:
    verdict = judge(swap_boards(read_made_profile(name).job, model, *BOARDS[model]))
    # L40S has no NVLink: its job over the network is the same, without that sign.
    assert verdict.id == ANSWERS[name].id


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_is_the_same_with_more_noise(name: str, seed: int) -> None:
    assert judge(add_noise(read_made_profile(name).job, 0.06, seed)).id == ANSWERS[name].id


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("name", [name for name in ANSWERS if len(read_made_profile(name).job.windows) == 8])
def test_the_answer_is_the_same_with_fewer_gpus(name: str, count: int) -> None:
    windows = read_made_profile(name).job.windows
    special = {"straggler": 3, "one-of-eight-unused": 7}.get(name, 0)
    gpus = [windows[special], *(window for number, window in enumerate(windows) if number != special)][:count]
    assert judge(Job(tuple(gpus))).id == ANSWERS[name].id


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("name", ["clocks-locked-1200", "power-limit-350", "pauses-of-30-s", "dead-profiling-counters"])
def test_the_answer_is_the_same_with_more_gpus(name: str, count: int) -> None:
    (window,) = read_made_profile(name).job.windows
    gpus = [
        replace(window, gpu=replace(window.gpu, index=str(number), uuid=f"GPU-{number}")) for number in range(count)
    ]
    verdict = judge(Job(tuple(gpus)))
    assert (verdict.id, verdict.confidence) == (ANSWERS[name].id, ANSWERS[name].confidence)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_field_that_is_missing_never_makes_surer(name: str) -> None:
    job = read_made_profile(name).job
    whole_rank = CONFIDENCES.index(judge(job).confidence)
    surer_verdicts = {
        field: (verdict.id, verdict.confidence)
        for field, part in list_without_fields(job)
        if CONFIDENCES.index((verdict := judge(part)).confidence) > whole_rank
    }
    assert surer_verdicts == {}


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(sorted(MECHANISMS)), st.integers(0, 10_000))
@example("plain arithmetic", 92)  # 83 % of the power limit is near the threshold that its clock refutes.
def test_no_missing_field_makes_surer_of_a_made_mechanism(name: str, seed: int) -> None:
    job = make_job(name, random.Random(seed))
    whole_rank = CONFIDENCES.index(classify(job).confidence)
    ranks = {field: CONFIDENCES.index(classify(part).confidence) for field, part in list_without_fields(job)}
    assert {field: rank for field, rank in ranks.items() if rank > whole_rank} == {}


@pytest.mark.parametrize("name", ANSWERS)
def test_without_many_fields_nothing_wrong_is_high(name: str) -> None:
    """The own list of dcgm-exporter has no limits, no highest clocks, no links and no reasons."""
    job = read_made_profile(name).job
    for field in ("power_limit", "clock_max", "fp64", "fp32", "fp16", "occupancy"):
        job = drop_field(job, "tracks", field)
    job = change_windows(job, lambda window: replace(window, pcie_peak=None, nvlink_peak=None, throttle_shares={}))
    verdict = judge(job)
    assert verdict.confidence != "high" or verdict.id == ANSWERS[name].id


def test_a_hang_that_begins_within_the_time_is_dated() -> None:
    work, hang = (read_made_profile(name).job for name in ("straggler", "collective-hang"))
    job = join_jobs([cut_job(work, 0.0, 0.5), cut_job(hang, 0.5, 1.0)])
    analysis = analyze_job(job)
    assert (analysis.verdict.id, analysis.verdict.confidence) == ("waiting", "high")
    assert "It has been so for 2 min, since 2026-11-18 11:08 UTC." in analysis.verdict.notes
    assert [stretch.verdict.id for stretch in analysis.stretches] == ["imbalanced", "waiting"]


def test_a_hang_with_an_ended_rank_in_the_job_names_it() -> None:
    hang, idle_gpu = read_made_profile("collective-hang").job, read_made_profile("one-of-eight-unused").job
    verdict = judge(Job((*hang.windows[:7], idle_gpu.windows[7])))
    assert verdict.id == "waiting"
    assert any("GPU 7 of the job does nothing" in note for note in verdict.notes)


def test_one_gpu_with_dead_counters_is_named() -> None:
    job, dead = read_made_profile("straggler").job, read_made_profile("dead-profiling-counters").job.windows[0]
    wrong = replace(dead, gpu=replace(dead.gpu, index="5"))
    verdict = judge(Job((*job.windows[:5], wrong, *job.windows[6:])))
    assert verdict.id == "not-measured"
    assert verdict.reasons[0].startswith("GPU 5: engine is 0 %")


def test_copies_in_pauses_are_not_counted_where_a_gpu_does_not_measure_them() -> None:
    """The mean of the others is not that of all."""
    (window,) = read_made_profile("pauses-of-30-s").job.windows
    second_window = replace(window, gpu=replace(window.gpu, index="1", uuid="GPU-1"))
    assert "4.0 GB/s go to the host" in list_texts(judge(Job((window, second_window))))
    tracks = {name: track for name, track in second_window.tracks.items() if name != "pcie_transmit"}
    texts = list_texts(judge(Job((window, replace(second_window, tracks=tracks)))))
    assert "pause 2 times for 30 s" in texts
    assert "go to the host" not in texts


def test_counters_that_die_within_the_time_are_no_pause() -> None:
    dead = read_made_profile("dead-profiling-counters").job
    work = read_made_profile("pauses-of-30-s").job
    verdict = judge(join_jobs([cut_job(work, 0.0, 0.35), cut_job(dead, 0.0, 0.2)]))
    assert verdict.id == "not-measured"


def test_counters_that_stand_still_are_not_measured() -> None:
    def stop_counters(window):  # type: ignore[no-untyped-def]
        tracks = {name: [window.tracks[name][0]] * window.samples for name in ("engine", "sm", "tensor", "dram")}
        return replace(window, tracks={**window.tracks, **tracks})

    verdict = judge(change_windows(read_made_profile("clocks-locked-1200").job, stop_counters))
    assert verdict.id == "not-measured"
    assert "stand still" in verdict.title


def test_a_power_limit_that_does_not_bind_is_noted() -> None:
    job = change_windows(
        read_made_profile("spin").job,
        lambda window: replace(window, tracks={**window.tracks, "power_limit": [500.0] * window.samples}),
    )
    assert "The power limit is below the board's default: 500 of 700 W." in judge(job).notes


def test_of_two_gpus_the_slower_one_is_named() -> None:
    windows = read_made_profile("straggler").job.windows
    verdict = judge(Job((windows[3], windows[6])))
    assert verdict.title.startswith("GPU 3 holds up the others. GPU 3: clock 898 of 1,980 MHz")


@pytest.mark.parametrize(
    ("share", "id", "confidence"), [(0.8, "network-bound", "high"), (0.02, "unseen-communication", "medium")]
)
def test_the_network_cards_of_the_hosts_decide(share: float, id: str, confidence: str) -> None:
    job = replace(read_made_profile("all-reduce-over-ethernet").job, network_shares={"gpu1": share})
    verdict = judge(job)
    assert (verdict.id, verdict.confidence) == (id, confidence)
    assert "pcie-bound" not in dict(verdict.alternatives)


def test_a_network_of_which_one_host_is_unknown_decides_nothing() -> None:
    job = read_made_profile("all-reduce-over-ethernet").job
    other_node = replace(job.windows[7], gpu=replace(job.windows[7].gpu, node="gpu2"))
    verdict = judge(replace(job, windows=(*job.windows[:7], other_node), network_shares={"gpu1": 0.9}))
    assert verdict.id == "unseen-communication"

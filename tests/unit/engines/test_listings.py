"""Output of dcgmi becomes rows; what has another shape is unknown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.engines.engine import Engines
from gpustack.engines.job import Figure
from gpustack.engines.listings import (
    Group,
    Listing,
    MetricGroup,
    Policy,
    Setting,
    Topic,
    list_figures,
    list_samples,
    list_topic,
    list_violations,
)
from gpustack.engines.samples import Sample, choose_fields
from gpustack.engines.violations import Violation
from gpustack.errors import UsageError
from tests.worlds.programs import engines
from tests.worlds.programs.engines import ACTING, ENGINES, FIRST, Hosts
from tests.worlds.snapshots.build import TAKEN_AT

ALONE = Engines((FIRST,), {}, ACTING, {}, TAKEN_AT)
TEXTS: dict[Topic, str] = {
    "groups": engines.GROUPS,
    "policies": engines.POLICIES,
    "settings": engines.SETTINGS,
    "metrics": engines.METRICS,
}


def parse_listing(topic: Topic, output: str, rc: int = 0) -> Listing:
    return list_topic(ALONE, topic, Hosts({"dcgmi": (rc, output)}).execute)


def test_groups_are_parsed() -> None:
    assert parse_listing("groups", engines.GROUPS).rows == (
        Group("gpu1", 0, "DCGM_ALL_SUPPORTED_GPUS", ("GPU 0", "GPU 1")),
        Group("gpu1", 2, "training", ()),
    )
    assert parse_listing("groups", "No groups found. Please create one. \n") == Listing("groups", ())


def test_policies_are_of_each_gpu() -> None:
    assert parse_listing("policies", engines.POLICIES).rows == (
        Policy("gpu1", "0", (), "None", "None"),
        Policy("gpu1", "1", ("Double-bit ECC errors", "Max temperature threshold - 85"), "None", "None"),
    )


def test_settings_are_of_each_gpu_but_sync_boost_which_is_the_first_ones() -> None:
    rows = parse_listing("settings", engines.SETTINGS).rows
    assert Setting("gpu1", "1", "NVIDIA H100 80GB HBM3", "Power Limit", "Not Configured", "700") in rows
    assert not any(isinstance(row, Setting) and row.setting == "Sync Boost" for row in rows)
    assert len(rows) == 10


def test_metrics_are_parsed() -> None:
    rows = parse_listing("metrics", engines.METRICS).rows
    assert rows[-1] == MetricGroup("gpu1", "B.0", 1009, "pcie_tx_bytes")
    assert parse_listing("metrics", "null\n") == Listing("metrics", ())


def test_figures_of_a_job_are_parsed() -> None:
    hosts = Hosts({"stats --job train-7 --verbose": (0, engines.render_job(0, 1))})
    rows = list_figures(ALONE, "train-7", hosts.execute).rows
    compute = "Compute Process Utilization"
    assert Figure("gpu1", "1", "Execution Stats", "End Time", "Still Running") in rows
    assert Figure("gpu1", "1", compute, "PID 4711 Avg SM Utilization (%)", "91") in rows
    assert Figure("gpu1", "0", compute, "PID 4712 Avg SM Utilization (%)", "Not Found") in rows
    slowdowns = [row for row in rows if isinstance(row, Figure) and row.section == "Slowdown Stats"]
    assert slowdowns == [
        Figure("gpu1", "", "Slowdown Stats", "Power (%)", "1.5"),
        Figure("gpu1", "", "Slowdown Stats", "Thermal (%)", "0"),
    ]


@pytest.mark.parametrize(
    ("rc", "output", "reason"),
    [
        (235, "Error: Unable to connect to host engine. …\n", "DCGM returned -21: Error: Unable to connect"),
        (254, "", "DCGM returned -2"),
        (127, "sh: dcgmi: not found\n", "the command returned 127: sh: dcgmi: not found"),
        (0, "", "another shape"),
        (0, engines.GROUPS[:-20], "another shape"),
        (124, "", "no answer within 30 s"),
    ],
)
def test_what_is_no_answer_is_unknown(rc: int, output: str, reason: str) -> None:
    listing = parse_listing("groups", output, rc)
    assert listing.rows == ()
    assert reason in listing.unread["gpu1"]


def test_a_node_without_an_engine_stays_unknown() -> None:
    listing = list_topic(ENGINES, "groups", Hosts({"dcgmi": (0, engines.GROUPS)}).execute)
    assert {row.node for row in listing.rows} == {"gpu1", "gpu2"}
    assert listing.unread == {"gpu4": "no DCGM host engine runs there"}


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(TEXTS)), st.integers(min_value=0), st.text(max_size=20))
def test_a_spoiled_answer_raises_nothing(topic: Topic, position: int, noise: str) -> None:
    text = TEXTS[topic]
    position %= len(text)
    listing = parse_listing(topic, text[:position] + noise + text[position + len(noise) :])
    assert listing.rows or listing.unread or topic in ("groups", "metrics")


def test_samples_stand_below_their_names() -> None:
    """A value that is missing moves no other into its column; N/A and what was cut are no values."""
    fields = choose_fields(["SM_ACTIVE", "dcgm_fi_dev_power_usage", "252"])
    hosts = Hosts({"dmon --field-id 1002,155,252 --delay 1000 --count 2": (0, engines.SAMPLES)})
    samples = list_samples(ALONE, fields, 1000, hosts.execute)
    assert [(row.entity, row.field, row.value) for row in samples.rows if isinstance(row, Sample)] == [
        ("GPU 0", "DCGM_FI_PROF_SM_ACTIVE", "0.913"),
        ("GPU 0", "DCGM_FI_DEV_POWER_USAGE", "640.120"),
        ("GPU 0", "DCGM_FI_DEV_FB_USED", ""),
        ("GPU 1", "DCGM_FI_PROF_SM_ACTIVE", ""),
        ("GPU 1", "DCGM_FI_DEV_POWER_USAGE", "71.000"),
        ("GPU 1", "DCGM_FI_DEV_FB_USED", "12"),
    ]


def test_columns_of_other_fields_are_unknown() -> None:
    hosts = Hosts({"dmon": (0, engines.SAMPLES)})
    assert list_samples(ALONE, choose_fields(["SM_ACTIVE"]), 1000, hosts.execute).unread


@pytest.mark.parametrize("word", ["NO_SUCH", "DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_EXP_XID_ERRORS_COUNT"])
def test_what_is_no_field_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        choose_fields([word])


def test_violations_within_a_time_are_parsed() -> None:
    """timeout(1) ends dcgmi; a dcgmi that ended by itself listened to nothing."""
    hosts = Hosts({"timeout --signal=INT 60 dcgmi policy --reg": (0, engines.VIOLATIONS)})
    listing = list_violations(ALONE, 60, hosts.execute)
    ecc = "A double-bit ECC error has violated policy manager values."
    assert listing.rows == (
        Violation("gpu1", "Wed Nov 25 10:00:00 2026", ecc, ("DBE error count: 2",)),
        Violation("gpu1", "Wed Nov 25 10:00:09 2026", "XID error 79 detected.", ()),
    )
    assert hosts.typed_commands[0].endswith("; [ $? = 124 ]")
    refusing_hosts = Hosts(
        {"--reg": (1, "Error: Cannot register to receive policy violations from the remote node.\n")}
    )
    assert "Cannot register" in list_violations(ALONE, 60, refusing_hosts.execute).unread["gpu1"]

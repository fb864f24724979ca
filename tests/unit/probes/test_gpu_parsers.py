"""Properties of the parsers about GPUs: the text is read, whatever its numbers and names, and nothing else is."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.ask.probe import Answer, FactUnavailable, Probe
from gpustack.probes.gpu.cluster import CLUSTER_POLICIES, GPU_DAEMON_SETS, GPU_DEPLOYMENTS, GPU_NODES
from gpustack.probes.gpu.dcgm import APP, COUNTERS, EXPORTER, MONITORS, SERIES
from gpustack.probes.gpu.devices import GPU_DEVICES, SCRIPT, Device
from gpustack.probes.gpu.logs import XID

NAME = st.from_regex(r"[a-z]([a-z0-9-]{0,7}[a-z0-9])?", fullmatch=True)
COUNT = st.integers(0, 64)
HEX = st.integers(0, 255).map("{:02x}".format)
BUS = st.builds("0000:{}:{}.{}".format, HEX, st.sampled_from(["00", "1f"]), st.integers(0, 7))
GPU_LABELS = st.dictionaries(st.builds("nvidia.com/{}".format, NAME), NAME, max_size=3)
OTHER_LABELS = st.dictionaries(st.builds("example.com/{}".format, NAME), NAME, max_size=3)


def parse_fact(probe: Probe[Any], body: Any) -> Any:
    return probe.extract_fact(Answer(probe.id, "@cluster", 0, body if isinstance(body, str) else json.dumps(body)))


@given(st.dictionaries(BUS, st.integers(0, 0xFFFF).map("{:04x}".format)))
def test_devices_are_listed_once_and_sorted(devices: dict[str, str]) -> None:
    text = "".join(f"{bus} 0x{device}\n" for bus, device in devices.items())
    assert parse_fact(GPU_DEVICES, text) == tuple(Device(bus, devices[bus]) for bus in sorted(devices))


def test_the_bus_of_a_host_says_what_each_function_is_bound_to(tmp_path: Path) -> None:
    """A tree as sysfs has it: a GPU of the host's, one of a virtual machine's, one without a driver; a sound function,
    and a card of another vendor."""
    functions = [
        ("0000:17:00.0", "0x10de", "0x030200", "nvidia"),
        ("0000:2a:00.0", "0x10de", "0x030200", "vfio-pci"),
        ("0000:03:00.0", "0x10de", "0x030000", ""),
        ("0000:03:00.1", "0x10de", "0x040300", "snd_hda_intel"),
        ("0000:04:00.0", "0x1a03", "0x030000", "ast"),
    ]
    for bus, vendor, kind, driver in functions:
        device = tmp_path / "devices" / bus
        device.mkdir(parents=True)
        for name, text in (("vendor", vendor), ("class", kind), ("device", "0x20b0")):
            (device / name).write_text(f"{text}\n")
        if driver:
            (tmp_path / "drivers" / driver).mkdir(parents=True, exist_ok=True)
            (device / "driver").symlink_to(tmp_path / "drivers" / driver)
    script = SCRIPT.replace("/sys/bus/pci/devices", str(tmp_path / "devices"))
    process = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, timeout=10)
    assert parse_fact(GPU_DEVICES, process.stdout) == (
        Device("0000:03:00.0", "20b0", "0300"),
        Device("0000:17:00.0", "20b0", "0302", "nvidia"),
        Device("0000:2a:00.0", "20b0", "0302", "vfio-pci"),
    )


@given(st.text(min_size=1).filter(lambda text: text.strip("\n")))
def test_a_line_that_is_no_device_is_no_answer(line: str) -> None:
    with pytest.raises(FactUnavailable):
        parse_fact(GPU_DEVICES, f"0000:17:00.0 0x2330\n{line}\n")


@given(NAME, GPU_LABELS, OTHER_LABELS, COUNT, COUNT, st.dictionaries(NAME, COUNT, max_size=3))
def test_a_node_is_parsed_with_gpus_and_slices(
    name: str, labels: dict[str, str], other_labels: dict[str, str], capacity: int, free: int, slices: dict[str, int]
) -> None:
    parts = {f"nvidia.com/mig-{profile}": count for profile, count in slices.items()}
    allocatable = {"cpu": "2", "nvidia.com/gpu": str(free), **{key: str(count) for key, count in parts.items()}}
    status = {"nodeInfo": {"machineID": "a"}, "capacity": {"nvidia.com/gpu": str(capacity)}, "allocatable": allocatable}
    (actual,) = parse_fact(
        GPU_NODES, {"items": [{"metadata": {"name": name, "labels": labels | other_labels}, "status": status}]}
    )
    assert (actual.name, actual.labels, actual.slices) == (name, labels, parts)
    assert (actual.capacity, actual.allocatable) == (capacity, free)


@pytest.mark.parametrize("field", ["capacity", "allocatable"])
@given(text=st.text() | st.integers() | st.none() | st.sampled_from(["2K", "-1", "1.5", "٢", "+2", " 2", "1ke3"]))
def test_a_count_that_is_no_number_is_no_answer(field: str, text: Any) -> None:
    if isinstance(text, str) and re.fullmatch(r"[0-9]+([kMGTPE]|[KMGTPE]i|[eE][0-9]+)?", text):
        return
    status = {"nodeInfo": {"machineID": "a"}, field: {"nvidia.com/gpu": text}}
    with pytest.raises(FactUnavailable):
        parse_fact(GPU_NODES, {"items": [{"metadata": {"name": "a"}, "status": status}]})


@given(NAME, st.booleans(), NAME, NAME, NAME)
def test_a_policy_says_its_error_first(state: str, failed: bool, good: str, bad: str, release: str) -> None:
    conditions = [
        {"type": "Ready", "status": str(not failed), "reason": good, "message": "fine"},
        {"type": "Error", "status": str(failed), "reason": bad, "message": "not fine"},
    ]
    metadata = {"name": "a", "annotations": {"meta.helm.sh/release-name": release}}
    body = {"items": [{"metadata": metadata, "status": {"state": state, "conditions": conditions}}]}
    (actual,) = parse_fact(CLUSTER_POLICIES, body)
    words = (bad, "not fine") if failed else (good, "fine")
    assert (actual.state, actual.reason, actual.message, actual.release) == (state, *words, release)


@given(COUNT, COUNT, COUNT, st.integers(1, 9), st.integers(1, 9))
def test_a_daemon_set_runs_only_with_all_its_pods_of_the_present_template(
    desired_pods: int, ready: int, up_to_date: int, generation: int, observed_generation: int
) -> None:
    status = {
        "desiredNumberScheduled": desired_pods, "numberReady": ready, "updatedNumberScheduled": up_to_date,
        "observedGeneration": observed_generation,
    }  # fmt: skip
    body = {"items": [{"metadata": {"name": "a", "generation": generation}, "spec": {}, "status": status}]}
    actual = parse_fact(GPU_DAEMON_SETS, body)["a"]
    assert (actual.desired_pods, actual.ready) == (desired_pods, ready)
    assert actual.runs == (ready >= desired_pods and up_to_date >= desired_pods and observed_generation == generation)


@given(COUNT, st.none() | COUNT, st.none() | COUNT)
def test_a_deployment_without_pods_has_no_counts(desired_pods: int, ready: int | None, up_to_date: int | None) -> None:
    counts = {"readyReplicas": ready, "updatedReplicas": up_to_date}
    status = {"observedGeneration": 1, **{key: count for key, count in counts.items() if count is not None}}
    body = {
        "items": [{"metadata": {"name": "a", "generation": 1}, "spec": {"replicas": desired_pods}, "status": status}]
    }
    actual = parse_fact(GPU_DEPLOYMENTS, body)["a"]
    assert actual.runs == ((ready or 0) >= desired_pods and (up_to_date or 0) >= desired_pods)


@given(st.dictionaries(st.sampled_from(["app", "tier", "release"]), st.sampled_from([EXPORTER, "other"])))
def test_a_monitor_is_the_exporter_s_when_its_selector_takes_the_exporter(labels: dict[str, str]) -> None:
    spec = {"selector": {"matchLabels": labels}}
    actual = parse_fact(MONITORS, {"items": [{"metadata": {"name": "a", "namespace": "b"}, "spec": spec}]})
    assert bool(actual) == (labels == APP)


@given(st.dictionaries(NAME, st.text(alphabet="abc,#\n ", max_size=20)))
def test_the_table_as_it_is_written(tables: dict[str, str]) -> None:
    items = [{"metadata": {"name": name}, "data": {"dcgm-metrics.csv": text}} for name, text in tables.items()]
    assert parse_fact(COUNTERS, {"items": items}) == tables


@given(st.lists(st.tuples(NAME, NAME, st.sampled_from(["hostname", "Hostname"])), max_size=6))
def test_each_series_becomes_one_fact(series: list[tuple[str, str, str]]) -> None:
    result = [{"metric": {"UUID": uuid, label: host, "job": "j"}, "value": [0, "1"]} for uuid, host, label in series]
    actual = parse_fact(SERIES, {"status": "success", "data": {"resultType": "vector", "result": result}})
    assert [(series.uuid, series.host, series.pod) for series in actual] == [
        (uuid, host, "") for uuid, host, _ in series
    ]


def test_an_xid_of_a_mig_instance_is_one_of_its_gpu() -> None:
    """The kernel names the instance beside the GPU (NVIDIA's Xid documentation)."""
    line = "NVRM: Xid (PCI:0000:65:00 GPU-I:05): 31, pid=1, name=python"
    assert XID.findall(line) == [("0000:65:00", "31")]

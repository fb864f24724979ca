"""A diagnosis as metrics: what is in them, how many, and how the file comes to be."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.judge import Judgement
from gpustack.doctor.finding import Diagnosis
from gpustack.errors import UsageError
from gpustack.report.doctor import metrics as doctor_metrics
from gpustack.report.doctor.metrics import render_metrics, write_metrics
from tests.worlds.results import diagnoses
from tests.worlds.results.plans import TAKEN_AT


def parse_series(diagnosis: Diagnosis) -> dict[str, float]:
    lines = [line for line in render_metrics(diagnosis).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_a_healthy_diagnosis_writes_no_finding() -> None:
    assert parse_series(diagnoses.make_healthy_diagnosis()) == {
        "gpustack_doctor_findings": 0,
        "gpustack_doctor_drift": 0,
        "gpustack_doctor_unknown_checks": 0,
        "gpustack_doctor_healthy": 1,
        "gpustack_doctor_duration_seconds": 4.2,
        "gpustack_doctor_last_run_timestamp_seconds": TAKEN_AT.timestamp(),
    }


def test_roots_and_unknown_checks_are_written() -> None:
    series = parse_series(diagnoses.make_ufw_diagnosis())
    for fault, host in (("host-ufw-blocks-pods", "gpu1"), ("host-ssh-unreachable", "gpu2")):
        labels = f'certainty="certain",class="broken",fault="{fault}",host="{host}",layer="host"'
        assert series[f"gpustack_finding{{{labels}}}"] == 1
    assert (series["gpustack_doctor_findings"], series["gpustack_doctor_unknown_checks"]) == (2, 3)
    assert series["gpustack_doctor_healthy"] == 0


def test_what_is_unknown_is_not_healthy() -> None:
    values = parse_series(diagnoses.make_diagnosis({"host-ip-forward-off@cp1": "?cut"}))
    assert (values["gpustack_doctor_findings"], values["gpustack_doctor_healthy"]) == (0, 0)


def pair() -> Diagnosis:
    """A fault on three hosts, and one of the same act on one of them."""
    together = diagnoses.make_joint_diagnosis()
    other_judgement = Judgement("op-nvidia-runtime-handler-missing", "gpu1", "failed")
    roots = (replace(together.roots[0], correlated_causes=(other_judgement,)),)
    return replace(together, verdict=replace(together.verdict, roots=roots))


def test_each_host_and_fault_has_one_series() -> None:
    names = [name for name in parse_series(pair()) if name.startswith("gpustack_finding")]
    assert [name.partition('fault="')[2].partition('"')[0] for name in names] == [
        *["containerd-cgroup-driver"] * 3,
        "op-nvidia-runtime-handler-missing",
    ]
    open_ones = [
        name for name in parse_series(diagnoses.make_unexplained_diagnosis()) if name.startswith("gpustack_unexplained")
    ]
    assert open_ones == ['gpustack_unexplained{host="gpu1",layer="kubeadm",state="st-node-notready"}']


def test_series_are_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_metrics, "SERIES", 2)
    series = parse_series(pair())
    assert (sum(name.startswith("gpustack_finding") for name in series), series["gpustack_doctor_findings"]) == (2, 4)


def test_a_name_cannot_end_its_label() -> None:
    ufw = diagnoses.make_ufw_diagnosis()
    root = ufw.roots[0]
    odd = replace(root, judgements=(replace(root.judgements[0], location='a"} 1\nb\\'),))
    output = render_metrics(replace(ufw, verdict=replace(ufw.verdict, roots=(odd,))))
    assert 'host="a\\"} 1\\nb\\\\",' in output


def test_a_name_cannot_turn_the_line_round() -> None:
    ufw = diagnoses.make_ufw_diagnosis()
    odd = replace(ufw.roots[0], judgements=(replace(ufw.roots[0].judgements[0], location="a\u202eb"),))
    assert 'host="a\ufffdb",' in render_metrics(replace(ufw, verdict=replace(ufw.verdict, roots=(odd,))))


def test_the_file_is_whole_readable_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "gpustack.prom"
    path.write_text("older")
    before = os.umask(0o077)
    try:
        write_metrics(diagnoses.make_ufw_diagnosis(), path)
    finally:
        os.umask(before)
    assert path.read_text() == render_metrics(diagnoses.make_ufw_diagnosis())
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_leaves_the_file_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gpustack.prom"
    path.write_text("older")

    def fill_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_disk)
    with pytest.raises(UsageError, match="was not written"):
        write_metrics(diagnoses.make_ufw_diagnosis(), path)
    assert [(path_there, path_there.read_text()) for path_there in tmp_path.iterdir()] == [(path, "older")]


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("older")
    (tmp_path / "link").symlink_to("file")
    for path in (tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"):
        with pytest.raises(UsageError, match="was not written") as excinfo:
            write_metrics(diagnoses.make_ufw_diagnosis(), path)
        assert "not a regular file" in excinfo.value.reason
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as excinfo:
        write_metrics(diagnoses.make_ufw_diagnosis(), tmp_path / "none" / "gpustack.prom")
    assert excinfo.value.reference == "metrics-not-written"

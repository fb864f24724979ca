"""Settings that stand in a file and are not in force, and why."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import Answer
from tests.unit.doctor.checks.evaluation import judge_host, summarize
from tests.worlds.snapshots.answers import make_answer, read_case

CGROUPFS = read_case("containerd.runtime", "prepared-debian-12", ('"SystemdCgroup": true', '"SystemdCgroup": false'))
SILENT = make_answer("containerd.runtime", "", 1)
OLD = """version = {version}
[plugins."{plugin}".containerd.runtimes.runc.options]
{key} = true
"""


def build_files(*texts: str, time: int = 1795237300) -> dict[str, Answer]:
    names = ("config.toml", "conf.d/a.toml", "conf.d/b.toml")
    stdout = "".join(f"== {name} {time}\n{text}\n" for name, text in zip(names, texts, strict=False))
    return {probe: make_answer(probe, stdout) for probe in ("containerd.tables", "containerd.configuration")}


def format_table(version: int, plugin: str, key: str = "SystemdCgroup") -> str:
    return OLD.format(version=version, plugin=plugin, key=key)


V2, V3 = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (format_table(3, V2), "failed"),
        (format_table(2, V3), "failed"),
        (format_table(3, V3, "systemdCgroup"), "failed"),
        (format_table(3, V3), "ok"),
        (format_table(4, V3), "ok"),
        ("version = 3\n", "ok"),
    ],
)
def test_a_key_in_a_table_that_is_not_read_fails(text: str, outcome: str) -> None:
    answers = build_files(text) | {"containerd.runtime": CGROUPFS}
    assert judge_host("containerd-config-key-wrong-schema", answers).outcome == outcome


@pytest.mark.parametrize(
    ("plugin", "outcome", "actual"), [(V2, "failed", "SystemdCgroup in config.toml"), (V3, "ok", "in force")]
)
def test_an_ignored_cgroup_driver_is_shown_by_the_setting(plugin: str, outcome: str, actual: str) -> None:
    answers = build_files(format_table(3, plugin)) | {"containerd.runtime": CGROUPFS}
    edge = "containerd-config-key-wrong-schema -> containerd-cgroup-driver"
    assert summarize(judge_host(edge, answers)) == (outcome, actual)


def test_another_runtime_of_the_right_table_is_not_runc() -> None:
    nvidia = format_table(4, V3).replace("runtimes.runc", "runtimes.nvidia")
    answers = build_files(format_table(4, V2), nvidia) | {"containerd.runtime": CGROUPFS}
    assert judge_host("containerd-config-key-wrong-schema", answers).outcome == "failed"


def test_a_table_too_many_does_no_harm() -> None:
    assert (
        judge_host("containerd-config-key-wrong-schema", build_files(format_table(3, V2), format_table(3, V3))).outcome
        == "ok"
    )
    later = build_files(format_table(3, V2), time=1795239000) | {"containerd.runtime": CGROUPFS}
    summary = summarize(judge_host("containerd-config-key-wrong-schema", later))
    assert summary == ("ok", "not restarted since they were written")


def install_version(text: str) -> Answer:
    packages = read_case("packages.installed", "prepared-debian-12")
    lines = [line for line in packages.stdout.splitlines() if not line.startswith("containerd.io ")]
    return replace(packages, stdout="\n".join([*lines, f"containerd.io hold installed {text}-1"]) + "\n")


@pytest.mark.parametrize(
    ("version", "texts", "running", "outcome"),
    [
        ("1.7.28", (format_table(2, V2), f'version = 2\n[plugins."{V2}"]\n'), CGROUPFS, "failed"),
        ("1.7.28", (format_table(2, V2), f'version = 2\n[plugins."{V2}"]\n'), SILENT, "failed"),
        ("1.7.28", (format_table(2, V2),), CGROUPFS, "ok"),
        ("2.3.7", (format_table(2, V2), f'version = 2\n[plugins."{V2}"]\n'), CGROUPFS, "ok"),
    ],
)
def test_a_drop_in_that_replaces_the_table_fails(
    version: str, texts: tuple[str, ...], running: Answer, outcome: str
) -> None:
    answers = build_files(*texts) | {"containerd.runtime": running, "packages.installed": install_version(version)}
    assert judge_host("containerd-dropin-replaces-cri-table", answers).outcome == outcome


BOTH_TABLES = f'version = 2\n[plugins."{V2}".registry]\nconfig_path = "/etc/containerd/certs.d"\n'
BOTH_TABLES += f'[plugins."{V2}".registry.mirrors."docker.io"]\nendpoint = ["https://a"]\n'


def test_registries_named_twice_fail() -> None:
    silent_files = build_files(BOTH_TABLES) | {"containerd.runtime": SILENT}
    assert judge_host("containerd-registry-config-invalid", silent_files).outcome == "failed"
    assert summarize(judge_host("containerd-registry-config-invalid", build_files(BOTH_TABLES))) == (
        "ok",
        "accepted by CRI",
    )
    assert summarize(judge_host("containerd-registry-config-invalid", build_files(""))) == (
        "ok",
        "either config_path or mirrors",
    )
    odd = {"containerd.mirrors": make_answer("containerd.mirrors", "== quay.io\nx = [\n")}
    assert summarize(judge_host("containerd-registry-config-invalid", build_files("") | odd))[0] == "failed"


def test_other_runtimes_are_reported() -> None:
    without_neighbours = {"containerd.neighbours": make_answer("containerd.neighbours", "")}
    assert judge_host("multiple-cri-sockets", without_neighbours).outcome == "ok"
    crio = {"containerd.neighbours": make_answer("containerd.neighbours", "/run/crio/crio.sock\n")}
    assert summarize(judge_host("multiple-cri-sockets", crio)) == ("failed", "/run/crio/crio.sock")
    odd = {"containerd.neighbours": make_answer("containerd.neighbours", "awk: error\n")}
    assert judge_host("multiple-cri-sockets", odd).outcome == "unknown"


@pytest.mark.parametrize(
    ("hold", "history", "outcome"),
    [
        ("hold", "2026-11-20 06:12:01 containerd.io kubelet\n", "ok"),
        ("install", "2026-11-20 06:12:01 containerd.io kubelet\n", "failed"),
        ("install", "", "ok"),
        ("install", "history\n", "unknown"),
    ],
)
def test_upgrades_below_running_pods_are_reported(hold: str, history: str, outcome: str) -> None:
    loose = read_case("packages.installed", "prepared-debian-12", ("containerd.io hold", f"containerd.io {hold}"))
    answers = {"packages.installed": loose, "packages.upgrades": make_answer("packages.upgrades", history)}
    assert judge_host("containerd-needrestart-or-upgrade-restart", answers).outcome == outcome


def test_docker_and_other_runtimes_are_distinguished() -> None:
    """The check of step containerd tells them apart: only Docker is that fault."""
    from gpustack.steps import STEPS
    from tests.worlds.snapshots.hosts import judge

    step = next(step for step in STEPS if step.id == "containerd")
    packages = read_case("packages.installed", "prepared-debian-12")
    for name, fault in (("docker.io", "host-docker-preinstalled"), ("containerd", "")):
        more_packages = replace(packages, stdout=f"{packages.stdout}{name} install installed 1.6.20-1\n")
        result = judge(step, {("packages.installed", "h1"): more_packages})["other-runtimes"].result
        assert result
        assert result.fault == fault


def test_a_containerd_that_does_not_respond_refutes_no_ignored_setting() -> None:
    answers = build_files(format_table(3, V2)) | {"containerd.runtime": SILENT}
    assert judge_host("containerd-config-key-wrong-schema", answers).outcome == "unknown"

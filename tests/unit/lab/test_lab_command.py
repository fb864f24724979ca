"""`gpustack lab` as typed; what it does to hosts is tested in tests/lab/test_lab_hosts.py."""

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from gpustack.cli import session
from gpustack.errors import LabError
from gpustack_lab.cli import commands as cli_lab
from gpustack_lab.cli import gpu as lab_gpu
from gpustack_lab.cli.commands import app
from gpustack_lab.cli.lab_name import complete_lab
from gpustack_lab.lab import Mirror, locks, state
from gpustack_lab.lab.state import Source
from gpustack_lab.simulated import hardware
from tests.unit.lab.records import record


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which no lab is up."""
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    return tmp_path


def run_lab(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def expect_refusal(*words: str) -> LabError:
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, LabError), result.output
    return result.exception


def test_status_says_that_there_is_no_lab() -> None:
    assert run_lab("status") == "there is no lab\n"


def test_status_names_net_inventory_and_mirror(tmp_path: Path) -> None:
    state.write(record(tmp_path / "state", source=Source("http://10.77.3.1:8480", "A" * 40)))
    first, *hosts = run_lab("status").splitlines()
    assert first.split() == ["two", "10.77.3.0/24", f"{tmp_path}/state/inventory", "mirror", "http://10.77.3.1:8480"]
    assert [line.split() for line in hosts] == [
        ["host1", "debian-12", "10.77.3.11", "stopped"],
        ["host2", "debian-13", "10.77.3.12", "stopped"],
    ]


def test_status_names_virtual_machines(tmp_path: Path) -> None:
    state.write(replace(record(tmp_path / "state"), vm="kvm"))
    assert run_lab("status").splitlines()[0].endswith("virtual machines")


def test_status_names_a_stopped_lab(tmp_path: Path) -> None:
    state.write(replace(record(tmp_path / "state"), stopped=True))
    assert run_lab("status").splitlines()[0].endswith("  stopped")


def test_start_needs_no_option_of_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mirrors: list[Mirror | None] = []

    def start(name: str, *, mirror: Mirror | None, report: object) -> SimpleNamespace:
        mirrors.append(mirror)
        return SimpleNamespace(hosts=state.read_existing(name).hosts, inventory=tmp_path / "inventory")

    monkeypatch.setattr("gpustack_lab.lab.start_lab", start)
    monkeypatch.setattr("gpustack.bundle.verify.read_fingerprint", lambda _: "A" * 40)
    (tmp_path / "bundle").mkdir()
    for bundle in ("", str(tmp_path / "bundle")):
        state.write(replace(record(tmp_path / "state"), stopped=True, bundle=bundle))
        first, *_, last = run_lab("start", "--name", "two").splitlines()
        assert (first, last) == ("host1  debian-12  10.77.3.11", f"inventory: {tmp_path}/inventory")
    bare_mirror, serving_mirror = mirrors
    assert bare_mirror is None
    assert serving_mirror
    assert (serving_mirror.bundle, serving_mirror.fingerprint) == (str(tmp_path / "bundle"), "A" * 40)
    assert serving_mirror.command("10.77.3.1")[-4:] == ["serve", str(tmp_path / "bundle"), "--listen", "10.77.3.1:8480"]


def test_commands_on_hosts_name_the_start_of_a_stopped_lab(tmp_path: Path) -> None:
    state.write(replace(record(tmp_path / "state"), stopped=True))
    for words in (("ssh", "host1"), ("save", "s"), ("gpu", "list")):
        assert expect_refusal(*words, "--name", "two").hint == "gpustack lab start --name two"


def test_up_says_who_root_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made_lab = SimpleNamespace(hosts=(), inventory=tmp_path / "inventory", record=record(tmp_path))
    monkeypatch.setattr("gpustack_lab.lab.create_lab", lambda *_, **__: made_lab)
    result = CliRunner().invoke(app, ["up", "-q"], catch_exceptions=False)
    assert result.stdout == f"inventory: {tmp_path}/inventory\n"
    assert "root of this machine" in result.stderr


def test_exec_passes_words_and_status_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], *, check: bool) -> "subprocess.CompletedProcess[bytes]":
        ran.append(words)
        return subprocess.CompletedProcess(words, 3)

    state.write(record(tmp_path / "state"))
    monkeypatch.setattr("gpustack_lab.cli.commands.subprocess.run", run)
    result = CliRunner().invoke(app, ["exec", "--name", "two", "host1", "--", "sh", "-c", "exit 3"])
    assert result.exit_code == 3
    assert ran == [["ssh", "-F", f"{tmp_path}/state/ssh_config", "host1", "--", "sh -c 'exit 3'"]]


@pytest.mark.parametrize(
    "words", [("ssh", "host1"), ("exec", "host1", "true"), ("save", "s"), ("restore", "s"), ("stop",), ("start",)]
)
def test_commands_without_a_lab_are_refused(words: tuple[str, ...]) -> None:
    assert expect_refusal(*words).reference == "lab-not-up"


def test_a_mirror_is_a_directory_or_a_url_with_a_key(tmp_path: Path) -> None:
    assert expect_refusal("up", "--mirror", "http://mirror.example").reference == "lab-mirror-unknown-key"
    assert expect_refusal("up", "--mirror", str(tmp_path / "none")).reference == "lab-mirror-missing"


@pytest.fixture
def host_root(tmp_path: Path) -> Path:
    """The root of host1, a host with two GPUs, of a lab that says so; host2 has none."""
    made_record = record(tmp_path / "state")
    made_record = replace(
        made_record, hosts=(replace(made_record.hosts[0], gpus=2, model="H100"), made_record.hosts[1])
    )
    state.write(made_record)
    root = made_record.locate_root(made_record.hosts[0])
    hardware.install_gpus(root, "two", "host1", 2, "H100")
    return root


def test_gpus_are_listed_with_what_was_set(host_root: Path) -> None:
    run_lab("gpu", "set", "host1:1", "temp=92", "xid=79", "--name", "two")
    first, second = run_lab("gpu", "list", "--name", "two").splitlines()
    assert first.startswith("host1:0  GPU-")
    assert first.endswith("  NVIDIA H100 80GB HBM3  -")
    assert second.endswith("  NVIDIA H100 80GB HBM3  temp=92 xid=79")
    assert "host1  debian-12  10.77.3.11  stopped  2 GPUs H100 (simulated)" in run_lab("status")


def test_a_gpu_is_shown_with_all_that_is_known(host_root: Path) -> None:
    run_lab("gpu", "set", "host1:0", "power-brake", "--name", "two")
    shown_gpu = dict(line.split() for line in run_lab("gpu", "show", "host1:0", "--name", "two").splitlines()[1:])
    assert (shown_gpu["bus"], shown_gpu["mem"], shown_gpu["viol_brake"]) == ("0000:17:00.0", "81559", "1")


def test_all_gpus_of_a_host_are_set_by_its_name(host_root: Path) -> None:
    assert len(run_lab("gpu", "set", "host1", "load=training", "--name", "two").splitlines()) == 2
    assert all("util=98" in line for line in run_lab("gpu", "list", "--name", "two").splitlines())


@pytest.mark.parametrize(
    ("gpu", "reference", "reason"),
    [
        ("host1:2", "lab-unknown-gpu", "The host has host1:0, host1:1."),
        ("host2:0", "lab-unknown-gpu", "The host has none."),
        ("host3:0", "lab-unknown-host", "It has host1, host2."),
        ("gpu one", "lab-unknown-host", "It has host1, host2."),
        ("host1:", "lab-unknown-gpu", "A GPU is written as host1:0, all of a host as host1."),
    ],
)
def test_an_unknown_gpu_is_refused(host_root: Path, gpu: str, reference: str, reason: str) -> None:
    error = expect_refusal("gpu", "set", gpu, "lost", "--name", "two")
    assert (error.reference, error.reason) == (reference, reason)


def test_a_lab_without_gpus_lists_none(tmp_path: Path) -> None:
    state.write(record(tmp_path / "state"))
    assert run_lab("gpu", "list", "--name", "two") == "lab two has no GPUs\n"


def test_completion_knows_gpus_models_and_words(host_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "compute_default_name", lambda: "two")
    assert lab_gpu.complete_gpu("host1") == ["host1:0", "host1:1"]
    assert lab_gpu.complete_word("l") == ["lost", "load=idle", "load=inference", "load=training", "limit="]
    assert "H100" in cli_lab.complete_model("h")
    assert (complete_lab("t"), complete_lab("x")) == (["two"], [])


def test_the_running_lab_is_an_inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_record = record(tmp_path / "state")
    state.write(made_record)
    monkeypatch.setattr(state, "compute_default_name", lambda: made_record.name)
    monkeypatch.chdir(tmp_path)
    assert session.resolve_inventory_path(Path("lab")) == made_record.state / "inventory"
    assert session.resolve_inventory_path(None) is None
    monkeypatch.setenv("GPUSTACK_INVENTORY", "lab")
    assert session.resolve_inventory_path(None) == made_record.state / "inventory"
    Path("lab").mkdir()
    assert session.resolve_inventory_path(Path("lab")) == made_record.state / "inventory"
    assert session.resolve_inventory_path(Path("mine")) == Path("mine")
    Path("lab").rmdir()
    Path("lab").touch()
    assert session.resolve_inventory_path(None) is None

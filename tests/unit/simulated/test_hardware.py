import os
import re
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab.simulated import hardware, pci
from gpustack_lab.simulated.models import MODELS
from gpustack_lab.simulated.state_text import parse

HOSTS = ("host1", "host2")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    hardware.install_gpus(tmp_path, "lab", "host1", 2, "H100")
    return tmp_path


def locate_state(root: Path) -> Path:
    return root / hardware.DIRECTORY / "state"


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("", "", [(0, ""), (0, "")]),
        ("2", "", [(2, "H100"), (2, "H100")]),
        ("4", "a100", [(4, "A100"), (4, "A100")]),
        ("host2:4", "L4", [(0, ""), (4, "L4")]),
        ("2,host2:4xT4", "", [(2, "H100"), (4, "T4")]),
        ("2,host1:0", "", [(0, ""), (2, "H100")]),
    ],
)
def test_a_fleet_is_parsed(text: str, model: str, expected: list[tuple[int, str]]) -> None:
    assert list(hardware.parse_fleet(HOSTS, text, model).values()) == expected


@pytest.mark.parametrize("text", ["two", "host3:1", "17", "-1", "host1:", ":2", "1x", "host1:1:1", "host1=1", "1,,1"])
def test_an_impossible_fleet_is_refused(text: str) -> None:
    with pytest.raises(LabError) as excinfo:
        hardware.parse_fleet(HOSTS, text)
    assert excinfo.value.reference == "lab-bad-request"


@pytest.mark.parametrize(("text", "model"), [("2", "H1000"), ("2xV2", ""), ("", "G200")])
def test_an_unknown_model_names_the_known_ones(text: str, model: str) -> None:
    with pytest.raises(LabError) as excinfo:
        hardware.parse_fleet(HOSTS, text, model)
    assert "H100" in excinfo.value.reason


def test_the_same_place_has_the_same_uuid_and_no_two_have_one() -> None:
    model = MODELS["H100"]
    places = [(lab, host, index) for lab in ("a", "b") for host in HOSTS for index in range(8)]
    uuids = [hardware.build_gpu(*place, model).uuid for place in places]
    assert uuids == [hardware.build_gpu(*place, model).uuid for place in places]
    assert len(set(uuids)) == len(places)
    assert all(re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid) for uuid in uuids)


def test_what_runs_keeps_its_state(root: Path) -> None:
    hardware.change(root, [1], ["temp=92"])
    hardware.install_gpus(root, "lab", "host1", 2, "H100")
    state = hardware.read(root)
    assert state
    assert [gpu.live for gpu in state.gpus] == [{}, {"temp": "92"}]


def test_fitting_goes_on_where_it_was_broken_off(root: Path) -> None:
    locate_state(root).unlink()
    (root / hardware.DIRECTORY / "pci" / pci.format_bus(1) / "vendor").unlink()
    hardware.install_gpus(root, "lab", "host1", 2, "H100")
    assert (root / hardware.DIRECTORY / "pci" / pci.format_bus(1) / "vendor").read_text() == "0x10de\n"


def test_a_host_without_gpus_has_nothing(tmp_path: Path) -> None:
    hardware.install_gpus(tmp_path, "lab", "host1", 0, "")
    assert list(tmp_path.iterdir()) == []
    assert hardware.read(tmp_path) is None


def test_a_change_is_written_in_place_longer_and_shorter(root: Path, tmp_path: Path) -> None:
    """Containers have the file mounted: another file of that name would be invisible to them."""
    path = tmp_path / "mounted"
    path.hardlink_to(locate_state(root))
    hardware.change(root, [0, 1], ["load=training"])
    assert [gpu.live["util"] for gpu in parse(path.read_text()).gpus] == ["98", "98"]
    hardware.change(root, [0, 1], ["recover"])
    assert path.read_text() == locate_state(root).read_text()
    assert "\n\n" not in path.read_text()


def test_whoever_reads_while_it_is_written_finds_whole_lines(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, states, before = os.pwrite, [], parse(locate_state(root).read_text())
    assert before.unknown_lines

    def write_slowly(file: int, data: bytes, position: int) -> int:
        written_text = write(file, data, position)
        states.append(parse(locate_state(root).read_text()))
        return written_text

    monkeypatch.setattr(os, "pwrite", write_slowly)
    hardware.change(root, [0, 1], ["load=training"])
    hardware.change(root, [0, 1], ["recover"])
    assert [[len(gpu.live) for gpu in moment.gpus] for moment in states] == [[10, 10], [0, 0]]
    assert [moment.unknown_lines for moment in states] == [before.unknown_lines] * 2


def test_events_are_appended(root: Path) -> None:
    hardware.change(root, [1], ["xid=31"])
    hardware.change(root, [0, 1], ["lost"])
    lines = (root / hardware.DIRECTORY / "events").read_text().splitlines()
    assert [line.split()[:3] for line in lines] == [["xid", "1", "31"], ["xid", "0", "79"], ["xid", "1", "79"]]
    assert all(re.fullmatch(r"xid \d+ \d+ \d{10}", line) for line in lines)


def test_of_a_wrong_change_nothing_is_done(root: Path) -> None:
    before = locate_state(root).read_text()
    with pytest.raises(LabError):
        hardware.change(root, [0, 1], ["temp=92", "nonsense"])
    assert locate_state(root).read_text() == before
    assert (root / hardware.DIRECTORY / "events").read_text() == ""


def test_a_broken_state_is_reported(root: Path) -> None:
    locate_state(root).write_text("gpu what\n")
    for use in (lambda: hardware.read(root), lambda: hardware.change(root, [0], ["recover"])):
        with pytest.raises(LabError) as excinfo:
            use()
        assert excinfo.value.reference == "lab-gpu-state-broken"


@pytest.mark.parametrize(("text", "expected"), [("host1:0", ("host1", 0)), ("host1", ("host1", None))])
def test_a_gpu_name_is_parsed(text: str, expected: tuple[str, int | None]) -> None:
    assert hardware.parse_gpu_name(text) == expected


@pytest.mark.parametrize("text", ["", ":0", "host1:", "host1:x", "host1:-1", "host1:0:0", "host1:²"])
def test_other_texts_are_no_gpu_names(text: str) -> None:
    with pytest.raises(LabError, match="no GPU"):
        hardware.parse_gpu_name(text)


@pytest.mark.parametrize("key", MODELS)
def test_pci_functions_are_as_in_sysfs(tmp_path: Path, key: str) -> None:
    pci.write(tmp_path, 0, MODELS[key])
    function = tmp_path / "0000:17:00.0"
    assert (function / "vendor").read_text() == "0x10de\n"
    assert (function / "class").read_text() == "0x030200\n"
    assert (function / "device").read_text() == f"0x{MODELS[key].device:04x}\n"
    assert (function / "config").read_bytes()[:4] == bytes([0xDE, 0x10, *MODELS[key].device.to_bytes(2, "little")])
    assert (function / "config").read_bytes()[9:12] == bytes([0, 2, 3])
    assert [len(line.split()) for line in (function / "resource").read_text().splitlines()] == [3] * 13
    assert f"PCI_ID=10DE:{MODELS[key].device:04X}\n" in (function / "uevent").read_text()


def test_the_last_gpu_of_a_host_has_a_bus() -> None:
    assert re.fullmatch(r"0000:[0-9a-f]{2}:00\.0", pci.format_bus(hardware.GPU_LIMIT - 1))

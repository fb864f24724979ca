"""Lab hosts that are virtual machines: how QEMU is asked for them. That they boot is tested in tests/vm."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from gpustack.config.spec import Spec
from gpustack.errors import LabError
from gpustack_lab.lab import identity, locks, releases, state
from gpustack_lab.lab.capabilities import Machine
from gpustack_lab.lab.inventory import build_cluster_spec
from gpustack_lab.lab.request import Request, judge_request, require_same
from gpustack_lab.lab.state import EMULATION
from gpustack_lab.lab.vm import image, qemu
from tests.unit.lab.records import HOSTS, record

NESTED_MACHINE = Machine(cgroup=1, oom_score=False, swap=True)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script in the place of a program."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("gpustack_lab.lab.vm.qemu.PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("gpustack_lab.lab.commands.PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o700)

    return write


def test_a_disk_of_ours_starts_its_own_kernel_and_an_image_its_boot_loader(tmp_path: Path) -> None:
    for name in ("disk.img", "swap.img", "vmlinuz"):
        (tmp_path / name).touch()
    words = qemu.build_machine_options(tmp_path, "kvm")
    assert words.count("-drive") == 2
    assert words[words.index("-append") + 1].startswith("root=LABEL=root")
    assert words[words.index("-cpu") + 1] == "host"
    for name in ("swap.img", "vmlinuz"):
        (tmp_path / name).unlink()
    (tmp_path / "cidata").mkdir()
    words = qemu.build_machine_options(tmp_path, EMULATION)
    assert words.count("-drive") == 1
    assert "-kernel" not in words
    assert "label=cidata" in words[words.index("-blockdev") + 1]


def test_a_comma_in_a_path_ends_no_option(tmp_path: Path) -> None:
    root = tmp_path / "a,b"
    root.mkdir()
    (root / "disk.img").touch()
    words = qemu.build_machine_options(root, EMULATION)
    assert f"file={tmp_path}/a,,b/disk.img" in words[words.index("-drive") + 1]


def test_the_disk_is_booted_and_not_what_cloud_init_reads(tmp_path: Path) -> None:
    (tmp_path / "disk.img").touch()
    (tmp_path / "cidata").mkdir()
    assert [word for word in qemu.build_machine_options(tmp_path, EMULATION) if "bootindex" in word] == [
        "virtio-blk-pci,drive=disk,bootindex=1"
    ]


def test_no_two_hosts_have_one_hardware_address_or_socket(tmp_path: Path) -> None:
    made_record = record(tmp_path)
    assert len({qemu.compute_mac_address(made_record, host) for host in HOSTS}) == 2
    assert len({qemu.locate_monitor(made_record, host) for host in HOSTS}) == 2
    assert all(len(str(qemu.locate_monitor(made_record, host))) < 108 for host in HOSTS)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo SeaBIOS; echo '[    0.000000] Linux version 6.12.48+deb13-cloud-amd64'; sleep 60", "kvm"),
        ("echo 'Booting from ROM..'; exec sleep 60", EMULATION),
        ("echo 'Could not access KVM kernel module' >&2; exit 1", EMULATION),
    ],
)
def test_kvm_counts_when_a_kernel_has_spoken(
    script: str, expected: str, program: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "KVM", tmp_path / "kvm")
    monkeypatch.setattr(qemu, "PROOF_LIMIT", 2.0)
    (tmp_path / "kvm").touch()
    program(qemu.PROGRAM, script)
    assert qemu.find_accelerator(tmp_path) == expected


def test_without_kvm_there_is_nothing_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "KVM", tmp_path / "none")
    assert qemu.find_accelerator(tmp_path) == EMULATION


def test_a_machine_that_is_gone_needs_no_power_button(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "locate_monitor", lambda *_: tmp_path / "monitor")
    qemu.power_off(record(tmp_path), HOSTS[0])
    assert list(tmp_path.iterdir()) == []


def test_an_emulated_machine_needs_patience_and_nothing_of_a_container(tmp_path: Path) -> None:
    emulated_spec = Spec.model_validate(build_cluster_spec(replace(record(tmp_path), vm=EMULATION), NESTED_MACHINE))
    assert emulated_spec.timeout_factor == 10
    assert emulated_spec.swap != "keep"
    assert not emulated_spec.kubernetes.ignore_preflight
    assert (
        Spec.model_validate(build_cluster_spec(replace(record(tmp_path), vm="kvm"), NESTED_MACHINE)).timeout_factor == 1
    )


@pytest.mark.parametrize(
    ("lab_request", "complaint"),
    [
        (Request("ok", ["debian-13"], gpus="2", vm=True), "simulated GPUs"),
        (Request("ok", ["noble"], internet=True, vm=True, image="/tmp/noble.img"), "from an image"),
    ],
)
def test_what_machines_cannot_have_is_refused(lab_request: Request, complaint: str) -> None:
    with pytest.raises(LabError) as excinfo:
        judge_request(lab_request, mirrored=True)
    assert complaint in excinfo.value.reason


def test_machines_are_not_containers_of_the_same_release(tmp_path: Path) -> None:
    emulated_record = replace(record(tmp_path), vm=EMULATION)
    require_same(emulated_record, Request("two", [host.os for host in HOSTS], vm=True))
    with pytest.raises(LabError) as excinfo:
        require_same(emulated_record, Request("two", [host.os for host in HOSTS]))
    assert "debian-12, debian-13 as virtual machines" in excinfo.value.reason


def test_a_file_that_is_no_image_is_refused(program: Callable[[str, str], None], tmp_path: Path) -> None:
    program("qemu-img", """echo '{"format": "raw"}'""")
    (tmp_path / "notes.img").write_text("not a disk")
    with pytest.raises(LabError) as excinfo:
        image.find(str(tmp_path / "notes.img"))
    assert excinfo.value.reference == "lab-bad-image"
    (tmp_path / "disk.img").write_bytes(bytes(510) + image.SIGNATURE + bytes(512))
    assert image.find(str(tmp_path / "disk.img")) == tmp_path / "disk.img"


@pytest.mark.parametrize(
    "message",
    [
        '{"format": "qcow2", "backing-filename": "/etc/shadow"}',
        '{"format": "qcow2", "format-specific": {"data": {"data-file": "/etc/shadow"}}}',
        '{"format": "vmdk"}',
    ],
)
def test_an_image_that_refers_to_other_files_is_refused(
    program: Callable[[str, str], None], tmp_path: Path, message: str
) -> None:
    program("qemu-img", f"echo '{message}'")
    (tmp_path / "x.qcow2").write_bytes(b"QFI\xfb")
    with pytest.raises(LabError) as excinfo:
        image.find(str(tmp_path / "x.qcow2"))
    assert excinfo.value.reference == "lab-bad-image"


@pytest.mark.parametrize(
    "text",
    [
        f"https://example.org/i#sha256=../{'x' * 61}",
        f"http://exa mple/#sha256={'0' * 64}",
        "nowhere.img",
        "https://example.org/noble.img",
        "https://example.org/i#sha256=12",
    ],
)
def test_an_image_that_is_not_there_or_not_verified_is_refused(text: str) -> None:
    with pytest.raises(LabError) as excinfo:
        image.find(text)
    assert excinfo.value.reference == "lab-bad-image"


def test_what_is_fetched_is_verified(
    program: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("qemu-img", """echo '{"format": "qcow2"}'""")
    served_image = tmp_path / "served.qcow2"
    served_image.write_bytes(b"QFI\xfb")
    monkeypatch.setattr(image, "locate_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: served_image.open("rb"))
    right = hashlib.sha256(served_image.read_bytes()).hexdigest()
    assert image.find(f"https://example.org/noble.img#sha256={right}").read_bytes() == served_image.read_bytes()
    with pytest.raises(LabError, match="another file"):
        image.find(f"https://example.org/noble.img#sha256={'0' * 64}")
    assert [path.name for path in (tmp_path / "cache/images").iterdir()] == [f"{right}.img"]


def test_cloud_init_gets_the_keys_and_the_address_that_the_lab_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_record = record(tmp_path)
    identity.make_keys(made_record)
    monkeypatch.setattr(identity, "read_nameservers", lambda: "nameserver 192.0.2.53\n")
    monkeypatch.setattr(releases, "read_environment", lambda: ('Acquire::http::Proxy "http://192.0.2.1:3128";\n', {}))
    image.write_seed(made_record, HOSTS[0], tmp_path / "cidata")
    user = (tmp_path / "cidata/user-data").read_text()
    assert user.startswith("#cloud-config\n")
    data = yaml.safe_load(user)
    assert data["ssh_keys"]["ed25519_private"] == (tmp_path / "ssh/host1_ed25519").read_text()
    assert data["users"][0]["name"] == "ops"
    network = yaml.safe_load((tmp_path / "cidata/network-config").read_text())
    assert network["ethernets"]["lab"]["addresses"] == ["10.77.3.11/24"]


def test_the_record_keeps_what_its_hosts_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    made_record = replace(record(tmp_path), vm="kvm", image="/tmp/noble.img")
    state.write(made_record)
    assert state.read("two") == made_record
    assert json.loads((tmp_path / "two.json").read_text())["vm"] == "kvm"

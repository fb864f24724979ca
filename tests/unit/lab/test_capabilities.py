import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import capabilities
from gpustack_lab.lab.capabilities import CAP_SYS_RESOURCE, has_capability, has_swap, refuse

NO_RESOURCE = "Name:\tpython\nCapInh:\t0000000000000000\nCapEff:\t000001fffeffffff\n"
ALL_CAPABILITIES = "CapEff:\t000001ffffffffff\n"


def find_refusal(system: str, missing: tuple[str, ...], root: bool) -> LabError | None:
    try:
        refuse(system, missing=missing, root=root)
    except LabError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("system", "missing", "root", "reference", "hint"),
    [
        ("Darwin", ("mmdebstrap",), False, "lab-needs-linux", "vagrant up"),
        ("Linux", ("btrfs-progs", "mmdebstrap"), True, "lab-packages-missing", "btrfs-progs mmdebstrap"),
        ("Linux", (), False, "lab-needs-root", "sudo gpustack lab up"),
    ],
)
def test_an_incapable_machine_is_refused(
    system: str, missing: tuple[str, ...], root: bool, reference: str, hint: str
) -> None:
    refusal = find_refusal(system, missing, root)
    assert refusal is not None
    assert refusal.reference == reference
    assert refusal.hint.endswith(hint)


def test_a_capable_machine_is_not_refused() -> None:
    assert find_refusal("Linux", (), root=True) is None


def test_missing_programs_name_their_package_once(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"ssh", "ssh-keygen", "btrfs"}
    monkeypatch.setattr("shutil.which", lambda program, path: None if program in absent else program)
    assert capabilities.list_missing_packages() == ("btrfs-progs", "openssh-client")


def test_virtual_machines_need_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"systemd-nspawn", "qemu-system-x86_64", "qemu-img"}
    monkeypatch.setattr("shutil.which", lambda program, path: None if program in absent else program)
    assert capabilities.list_missing_packages() == ("systemd-container",)
    assert capabilities.list_missing_packages(vm=True) == ("qemu-system-x86", "qemu-utils")


def test_the_kernel_s_gaps_are_named_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "refuse", lambda *_, **__: None)
    monkeypatch.setattr(capabilities, "detect_features", lambda **_: {"bridge": True, "vxlan": False, "btrfs": False})
    monkeypatch.setattr(capabilities, "MODULES", ())
    with pytest.raises(LabError) as excinfo:
        capabilities.require()
    assert excinfo.value.reference == "lab-kernel-lacks"
    assert excinfo.value.hint == "modprobe --all vxlan btrfs"


@pytest.mark.parametrize(("status", "expected"), [(NO_RESOURCE, False), (ALL_CAPABILITIES, True)])
def test_cap_sys_resource_is_detected(status: str, expected: bool) -> None:
    assert has_capability(status, CAP_SYS_RESOURCE) is expected


SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


@pytest.mark.parametrize(
    ("swaps", "expected"),
    [
        ("", False),
        (SWAPS, False),
        (f"{SWAPS}/dev/dm-1                               partition\t8388604\t\t0\t\t-2\n", True),
        (f"{SWAPS}/swapfile                               file\t\t2097148\t\t512\t\t-2\n", True),
    ],
)
def test_swap_of_the_machine_is_detected(swaps: str, *, expected: bool) -> None:
    assert has_swap(swaps) is expected

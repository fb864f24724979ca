"""Checks of step prereqs on the kernel: modules, sysctls, swap, AppArmor."""

import pytest

from gpustack.steps.prereqs.step import STEP
from tests.worlds.cases import recorded, written
from tests.worlds.hosts import judged
from tests.worlds.judge import failures


def test_apparmor_is_needed_where_the_kernel_has_it() -> None:
    answers = {
        ("kernel.modules", "h1"): recorded(
            "kernel.modules", "prepared-debian-12", ("== apparmor\n", "== apparmor\nY\n")
        )
    }
    found, cure = failures(judged(STEP, answers))["apparmor"]
    assert (found, cure) == ("missing, and AppArmor is on in the kernel", "install")


def test_live_values_count_and_later_files_too() -> None:
    answers = {("kernel.sysctls", "h1"): recorded("kernel.sysctls", "drifted-debian-12")}
    found = failures(judged(STEP, answers))
    assert found["sysctls"] == ("net.bridge.bridge-nf-call-iptables = 0, net.ipv4.ip_forward = 0", "install")
    assert found["sysctls-overridden"] == ("net.ipv4.ip_forward = 0 in /etc/sysctl.d/99-hardening.conf", "operator")
    assert found["sysctls-at-boot"][1] == "install"


def test_a_file_before_ours_overrides_nothing() -> None:
    answer = recorded("kernel.sysctls", "drifted-debian-12", ("net/ipv4/ip_forward=0\n", ""))
    assert "sysctls-overridden" not in failures(judged(STEP, {("kernel.sysctls", "h1"): answer}))


def test_ufw_overrides() -> None:
    answers = {("kernel.sysctls", "h1"): recorded("kernel.sysctls", "ufw")}
    assert failures(judged(STEP, answers)) == {
        "sysctls-overridden": ("net.ipv4.ip_forward = 0 in /etc/ufw/sysctl.conf", "operator")
    }


def test_a_module_that_is_not_there() -> None:
    no_bridge = written("kernel.modules", "== working\noverlay\n== boot\n== apparmor\n")
    answers = {
        ("kernel.modules", "h1"): no_bridge,
        ("kernel.sysctls", "h1"): recorded("kernel.sysctls", "no-bridge"),
    }
    found = failures(judged(STEP, answers))
    assert found["modules"] == ("not working: br_netfilter", "install")
    assert "net.bridge.bridge-nf-call-iptables = nothing" in found["sysctls"][0]


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (
            "ubuntu-swapfile",
            {"swap-off": "/swap.img", "swap-stays-off": "fstab: /swap.img none swap sw 0 0, swap.img.swap"},
        ),
        ("zram-generator", {"swap-off": "/dev/zram0", "swap-stays-off": "dev-zram0.swap"}),
        ("zram-tools", {"swap-off": "/dev/zram0", "swap-stays-off": "zramswap.service"}),
        ("gpt", {"swap-off": "/dev/nvme0n1p3", "swap-stays-off": "dev-nvme0n1p3.swap"}),
        ("masked", {}),
    ],
)
def test_swap(case: str, found: dict[str, str]) -> None:
    answers = {("kernel.swap", "h1"): recorded("kernel.swap", case)}
    assert failures(judged(STEP, answers)) == {check: (text, "install") for check, text in found.items()}
    assert failures(judged(STEP, answers, {"swap": "keep"})) == {}

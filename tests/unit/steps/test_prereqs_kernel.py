"""Checks of step prereqs on the kernel: modules, sysctls, swap, AppArmor."""

import pytest

from gpustack.steps.prereqs.step import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import judge
from tests.worlds.snapshots.judge import list_failures


def test_apparmor_is_needed_where_the_kernel_has_it() -> None:
    answers = place_answers(
        "h1", read_case("kernel.modules", "prepared-debian-12", ("== apparmor\n", "== apparmor\nY\n"))
    )
    actual, cure = list_failures(judge(STEP, answers))["apparmor"]
    assert (actual, cure) == ("missing, but AppArmor is enabled in the kernel", "install")


def test_live_values_count_and_later_files_too() -> None:
    answers = place_answers("h1", read_case("kernel.sysctls", "drifted-debian-12"))
    failures = list_failures(judge(STEP, answers))
    assert failures["sysctls"] == ("net.bridge.bridge-nf-call-iptables = 0, net.ipv4.ip_forward = 0", "install")
    assert failures["sysctls-overridden"] == ("net.ipv4.ip_forward = 0 in /etc/sysctl.d/99-hardening.conf", "operator")
    assert failures["sysctls-at-boot"][1] == "install"


def test_a_file_before_ours_overrides_nothing() -> None:
    answer = read_case("kernel.sysctls", "drifted-debian-12", ("net/ipv4/ip_forward=0\n", ""))
    assert "sysctls-overridden" not in list_failures(judge(STEP, {("kernel.sysctls", "h1"): answer}))


def test_sysctls_that_ufw_overrides_are_for_the_operator() -> None:
    answers = place_answers("h1", read_case("kernel.sysctls", "ufw"))
    assert list_failures(judge(STEP, answers)) == {
        "sysctls-overridden": ("net.ipv4.ip_forward = 0 in /etc/ufw/sysctl.conf", "operator")
    }


def test_a_missing_module_is_for_install() -> None:
    no_bridge = make_answer("kernel.modules", "== working\noverlay\n== boot\n== apparmor\n")
    answers = {
        ("kernel.modules", "h1"): no_bridge,
        ("kernel.sysctls", "h1"): read_case("kernel.sysctls", "no-bridge"),
    }
    failures = list_failures(judge(STEP, answers))
    assert failures["modules"] == ("not working: br_netfilter", "install")
    assert "net.bridge.bridge-nf-call-iptables = nothing" in failures["sysctls"][0]


@pytest.mark.parametrize(
    ("case", "expected"),
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
def test_swap_is_for_install_unless_kept(case: str, expected: dict[str, str]) -> None:
    answers = place_answers("h1", read_case("kernel.swap", case))
    assert list_failures(judge(STEP, answers)) == {check: (text, "install") for check, text in expected.items()}
    assert list_failures(judge(STEP, answers, {"swap": "keep"})) == {}

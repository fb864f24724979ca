from typing import Any

import pytest

from gpustack.ask.transport.refusal import HOST_LIMIT
from gpustack.config.resources import locate_playbooks
from gpustack.rollout.overlay import build_host_facts
from gpustack.steps.gpu.driver import STEP
from gpustack.steps.gpu.driver_packages import EXCLUDED_PREFIXES
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

ROLE = locate_playbooks() / "roles" / "gpu_driver"
PACKAGES, DRIVER, KERNELS, SMI = "gpu.packages", "gpu.driver", "gpu.kernels", "gpu.smi"
CONTAINER = {"gpu": {"driver": {"mode": "container"}}}
WITHOUT_DRIVER = {"gpu": {"driver": {"mode": "none"}}}
UNGUARDED_DRIVER = {"gpu": {"driver": {"guard": False}}}


def find_failures(*changes: Any, **options: Any) -> dict[str, tuple[str, str]]:
    return list_failures(judge(STEP, *changes, **options))


def load_cases(**names: str) -> dict[tuple[str, str], Any]:
    """Load cases of h1 by probe: driver="mismatch" is gpu.driver/mismatch."""
    return {(f"gpu.{probe}", "h1"): read_case(f"gpu.{probe}", case) for probe, case in names.items()}


def edit_answer(probe: str, *edits: tuple[str, str]) -> Answers:
    return place_answers("h1", read_case(probe, "prepared-debian-12", *edits))


def find_hint(check: str, answers: Answers, spec: dict[str, Any] | None = None) -> str:
    mismatch = judge(STEP, answers, spec)[check].result
    assert mismatch
    return mismatch.hint


def test_a_fresh_host_is_for_install() -> None:
    assert find_failures(state="fresh") == {
        "nouveau": ("not blacklisted", "install"),
        "repository": ("nothing", "install"),
        "version-pinned": ("nothing", "install"),
        "packages-installed": ("missing: nvidia-driver-cuda, nvidia-kernel-open-dkms", "install"),
        "unattended-upgrades": ("not firmware-nvidia, libcuda, libnvidia-, nvidia-", "install"),
        "next-kernel": ("missing: linux-headers-6.1.0-31-amd64, linux-headers-amd64", "install"),
        "module-loaded": ("not loaded, and not built for the kernel 6.1.0-28-amd64", "install"),
        "answers": ("not installed", "install"),
    }


@pytest.mark.parametrize("state", ["fresh", "prepared"])
@pytest.mark.parametrize("spec", [{}, CONTAINER, WITHOUT_DRIVER])
def test_a_host_without_gpus_has_nothing_to_do(state: str, spec: dict[str, Any]) -> None:
    """Whatever else is wrong there: nothing more is asked, and nothing is read."""
    answers = place_answers("h1", make_answer("gpu.devices", ""))
    assert find_failures(answers, spec, state=state) == {}
    read = {
        evidence.answer.probe for judgement in judge(STEP, answers, spec).values() for evidence in judgement.evidence
    }
    assert read == {"gpu.devices"}


def test_no_driver_container_is_built_for_debian() -> None:
    assert find_failures(state="fresh", spec=CONTAINER)["driver-mode"] == ("container", "operator")
    ubuntu = {("system.os", "h1"): UBUNTU}
    assert set(find_failures(ubuntu, CONTAINER, state="fresh")) == {"nouveau"}


def test_secure_boot_is_reported_before_anything_is_installed() -> None:
    failures = find_failures(load_cases(driver="secure-boot"), state="fresh")
    assert failures["secure-boot"] == ("on, and DKMS's key is not enrolled", "operator")
    enrolled_key = make_answer(DRIVER, "module -\nlibrary -\nsecure-boot\nkey-enrolled\npersistence none\n")
    assert "secure-boot" not in find_failures({(DRIVER, "h1"): enrolled_key}, state="fresh")
    ubuntu = {("system.os", "h1"): UBUNTU, (DRIVER, "h1"): enrolled_key}
    assert "secure-boot" in find_failures(ubuntu, CONTAINER, state="fresh")


def test_the_hint_names_the_key_that_is_there() -> None:
    assert "secure-boot" not in find_failures(load_cases(driver="mok-of-ubuntu"), state="fresh")
    key = "/var/lib/shim-signed/mok/MOK.der"
    other_key = place_answers(
        "h1", make_answer(DRIVER, f"module -\nlibrary -\nsecure-boot\nkey {key}\npersistence none\n")
    )
    assert f"mokutil --import {key}" in find_hint("secure-boot", other_key)
    ubuntu = {("system.os", "h1"): UBUNTU, **other_key}
    assert "gpu.driver.mode: host" in find_hint("secure-boot", ubuntu, CONTAINER)


def test_a_module_that_is_loaded_is_signed() -> None:
    assert find_failures(edit_answer(DRIVER, ("nouveau-blacklisted", "nouveau-blacklisted\nsecure-boot"))) == {}


def test_nouveau_is_blacklisted_first_and_needs_a_reboot_then() -> None:
    assert find_failures(load_cases(driver="nouveau"))["nouveau"] == ("not blacklisted, loaded", "install")
    both_states = make_answer(DRIVER, "module -\nlibrary -\nnouveau-loaded\nnouveau-blacklisted\npersistence none\n")
    assert find_failures({(DRIVER, "h1"): both_states})["nouveau"] == ("loaded", "operator")
    assert "reboot h1" in find_hint("nouveau", {(DRIVER, "h1"): both_states})


def test_the_run_installer_s_driver_is_left_alone() -> None:
    failures = find_failures(load_cases(driver="run-installer"), state="fresh")
    assert failures["other-drivers"] == ("the driver of the .run installer", "operator")
    assert "nvidia-uninstall" in find_hint("other-drivers", load_cases(driver="run-installer"))
    assert find_failures(load_cases(driver="run-installer"), WITHOUT_DRIVER) == {}


def test_the_driver_of_debian_s_own_archive_is_left_alone() -> None:
    failures = find_failures(load_cases(packages="debian-archive"))
    assert failures["other-drivers"] == ("nvidia-smi", "operator")
    assert failures["version"] == ("nvidia-kernel-dkms", "upgrade")


def test_packages_on_the_host_are_in_the_way_of_a_driver_container() -> None:
    ubuntu = {("system.os", "h1"): UBUNTU, **load_cases(packages="ubuntu-nvidia")}
    failures = find_failures(ubuntu, CONTAINER)
    assert failures == {"other-drivers": ("libnvidia-compute, nvidia-dkms-open", "operator")}


def test_the_repository_of_ubuntu_has_its_names() -> None:
    ubuntu = {("system.os", "h1"): UBUNTU, **load_cases(packages="ubuntu-nvidia")}
    failures = find_failures(ubuntu)
    assert set(failures) == {"repository"}
    assert failures["repository"][0].startswith("uri ")


@pytest.mark.parametrize(
    ("driver", "names"),
    [
        ({}, ["libnvidia-compute", "nvidia-dkms-open", "nvidia-persistenced"]),
        (
            {"version": "590.48.01", "kernel_module": "proprietary"},
            ["libnvidia-compute", "nvidia-dkms", "nvidia-persistenced"],
        ),
        (
            {"version": "580.126.16"},
            ["libnvidia-compute-580", "nvidia-dkms-580-open", "nvidia-persistenced", "nvidia-utils-580"],
        ),
        (
            {"version": "580.126.16", "kernel_module": "proprietary"},
            ["libnvidia-compute-580", "nvidia-dkms-580", "nvidia-persistenced", "nvidia-utils-580"],
        ),
    ],
)
def test_packages_of_ubuntu_are_named_by_branch(driver: dict[str, str], names: list[str]) -> None:
    """NVIDIA/infra-controller installs 580.126.16 so; the role is given what the check asks for."""
    ubuntu = {("system.os", "h1"): UBUNTU}
    spec = {"gpu": {"driver": {"mode": "host", **driver}}}
    missing = find_failures(ubuntu, spec, state="fresh")["packages-installed"]
    assert missing == (f"missing: {', '.join(names)}", "install")
    host_facts = build_host_facts(build_snapshot(ubuntu, spec), "h1")
    version = driver.get("version", "595.91.07")
    assert host_facts
    assert host_facts["gpu_driver_packages"] == " ".join(f"{name}={version}-*" for name in names)


def test_a_module_of_another_branch_is_another_version() -> None:
    packages = edit_answer(PACKAGES, ("nvidia-driver-pinning-595 ", "nvidia-dkms-580-server-open "))
    failures = find_failures({("system.os", "h1"): UBUNTU, **packages}, {"gpu": {"driver": {"mode": "host"}}})
    assert failures["version"] == ("nvidia-dkms-580-server-open, nvidia-kernel-open-dkms", "upgrade")


def test_nvidia_smi_that_no_package_has_brought_is_not_installed_for_ever() -> None:
    text = read_case(PACKAGES, "ubuntu-nvidia").stdout
    on_ubuntu = {("system.os", "h1"): UBUNTU, **load_cases(smi="fresh-debian-12")}
    half = make_answer(PACKAGES, text.replace("libnvidia-compute ", "libnvidia-gl "))
    assert find_failures(on_ubuntu | {(PACKAGES, "h1"): half})["answers"] == ("not installed", "install")
    failures = find_failures(on_ubuntu | place_answers("h1", make_answer(PACKAGES, text)))
    assert failures["answers"] == ("not installed", "operator")


def test_the_official_repository_has_the_release_and_the_platform_in_its_address() -> None:
    official = "https://developer.download.nvidia.com/compute/cuda/repos/"
    mismatch = judge(STEP, load_cases(repository="fresh-debian-12"), {"source": "official"})["repository"].result
    assert mismatch
    key = "EB693B3035CD5710E231E123A4B469963BF863CC"
    assert mismatch.expected == f"{official}debian12/x86_64/, key {key}"
    arm = read_case("system.os", "prepared-debian-12", ("x86_64", "aarch64"))
    answers = {("system.os", "h1"): arm, **load_cases(repository="fresh-debian-12")}
    mismatch = judge(STEP, answers, {"source": "official"})["repository"].result
    assert mismatch
    assert mismatch.expected.startswith(f"{official}debian12/sbsa/")


def test_another_version_is_not_moved() -> None:
    other_version = {"gpu": {"driver": {"version": "595.91.08"}}}
    failures = find_failures(spec=other_version)
    assert failures == {"version": ("nvidia-driver-cuda 595.91.07, nvidia-kernel-open-dkms 595.91.07", "upgrade")}


def test_the_other_kind_of_module_is_another_version() -> None:
    failures = find_failures(spec={"gpu": {"driver": {"kernel_module": "proprietary"}}})
    assert failures["version"] == ("nvidia-kernel-open-dkms", "upgrade")


@pytest.mark.parametrize(
    ("pin", "holds"),
    [
        ("nvidia-driver-pinning-595", True),
        ("nvidia-driver-pinning-595.91.07", True),
        ("nvidia-driver-pinning-595.71.05", False),
        ("nvidia-driver-pinning-610", False),
    ],
)
def test_a_pin_of_another_branch_is_for_install(pin: str, *, holds: bool) -> None:
    failures = find_failures(edit_answer(PACKAGES, ("nvidia-driver-pinning-595 ", f"{pin} ")))
    assert failures == ({} if holds else {"version-pinned": (pin, "install")})


def test_an_unguarded_driver_is_for_install() -> None:
    loose = edit_answer(PACKAGES, ("nvidia-driver-cuda hold", "nvidia-driver-cuda install"))
    assert find_failures(loose) == {"packages-held": ("not held: nvidia-driver-cuda", "install")}
    assert find_failures(loose, UNGUARDED_DRIVER) == {}
    failures = find_failures(load_cases(guard="others"))
    assert failures == {"unattended-upgrades": ("not firmware-nvidia, libcuda, libnvidia-, nvidia-", "install")}
    assert find_failures(load_cases(guard="others"), UNGUARDED_DRIVER) == {}


def test_missing_headers_of_the_next_kernel_are_for_install() -> None:
    """-28 is newer than -9, and an upgrade brought it without its headers."""
    failures = find_failures(load_cases(kernels="newer-kernel"))
    assert failures == {"next-kernel": ("missing: linux-headers-6.1.0-28-amd64", "install")}
    assert find_failures(load_cases(kernels="newer-kernel"), UNGUARDED_DRIVER) == {}
    unbuilt = edit_answer(KERNELS, ("6.1.0-31-amd64 yes 595.91.07", "6.1.0-31-amd64 yes -"))
    assert find_failures(unbuilt) == {"next-kernel": ("missing: the module for 6.1.0-31-amd64", "install")}
    following = edit_answer(PACKAGES, ("linux-headers-amd64", "linux-headers-cloud-amd64"))
    assert find_failures(following) == {"next-kernel": ("missing: linux-headers-amd64", "install")}


def test_headers_that_apt_does_not_know_are_not_waited_for() -> None:
    """linux-image-extra-virtual, as on Ubuntu's GPU VMs, has no linux-headers-extra-virtual."""
    extra = edit_answer(PACKAGES, ("linux-image-amd64 ", "linux-image-extra-virtual "))
    assert find_failures(extra) == {"next-kernel": ("missing: linux-headers-extra-virtual", "install")}
    kernels = f"{read_case(KERNELS, 'prepared-debian-12').stdout}unknown linux-headers-extra-virtual\n"
    assert find_failures({**extra, (KERNELS, "h1"): make_answer(KERNELS, kernels)}) == {}


def test_a_container_has_no_kernels_of_its_own() -> None:
    lines = read_case(PACKAGES, "prepared-debian-12").stdout.splitlines()
    few = "".join(f"{line}\n" for line in lines if not line.startswith("linux-"))
    assert find_failures({(PACKAGES, "h1"): make_answer(PACKAGES, few), **load_cases(kernels="container")}) == {}


def test_a_module_of_another_version_needs_a_reboot() -> None:
    failures = find_failures(load_cases(driver="mismatch", smi="mismatch"))
    words = "module 595.71.05, libraries 595.91.07: driver/library version mismatch"
    assert failures["matching"] == (words, "operator")
    assert failures["answers"][1] == "operator"
    assert "drain its node before" in find_hint("matching", load_cases(driver="mismatch"))


def test_an_unloaded_module_is_reported() -> None:
    line = read_case(DRIVER, "prepared-debian-12").stdout.splitlines()[0]
    answers = {**edit_answer(DRIVER, (line, "module -")), **load_cases(smi="not-loaded")}
    failures = find_failures(answers)
    assert failures["module-loaded"] == ("not loaded", "install")
    assert failures["answers"][1] == "install"
    assert failures["answers"][0].startswith("the module is not loaded (exit status 9)")
    assert {cure for _, cure in find_failures(answers, WITHOUT_DRIVER).values()} == {"operator"}


def test_inactive_persistence_is_for_install() -> None:
    failures = find_failures(edit_answer(DRIVER, ("persistence active", "persistence inactive")))
    assert failures == {"persistence": ("inactive", "install")}
    assert find_failures(edit_answer(DRIVER, ("persistence active", "persistence none"))) == {}


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("hangs", "no response: the driver is stuck"),
        ("fallen-off", "a GPU has fallen off the bus"),
        ("mismatch", "driver/library version mismatch (exit status 18)"),
        ("one-lost", "Unable to determine the device handle for GPU1"),
    ],
)
def test_failures_of_nvidia_smi_are_explained(case: str, words: str) -> None:
    (text, cure) = find_failures(load_cases(smi=case))["answers"]
    assert text.startswith(words)
    assert cure == "operator"


def test_nvidia_smi_without_gpus_is_for_the_operator() -> None:
    failures = find_failures(place_answers("h1", make_answer(SMI, "No devices were found\nrc 6\n")))
    assert failures["answers"][1] == "operator"
    assert find_failures(place_answers("h1", make_answer(SMI, "\nrc 0\n")))["answers"] == ("no GPU", "operator")


def test_what_may_hang_is_asked_last() -> None:
    assert STEP.probes[-1].id == SMI
    # One question of 25.5 s, or two of 3.5 s: with it, what was asked before must fit into a host's 45 s.
    assert STEP.probes[-1].limit <= HOST_LIMIT - 15


def test_the_role_leaves_alone_what_the_check_asks_for() -> None:
    guard = (ROLE / "files" / "52gpustack-nvidia-driver").read_text()
    assert [line.strip(' ";') for line in guard.splitlines() if line.startswith("  ")] == list(EXCLUDED_PREFIXES)

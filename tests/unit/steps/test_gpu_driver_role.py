"""Scripts of the role with programs that are put before the host's: what they choose, what they say of a failure."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer, FactUnavailable
from gpustack.config.resources import locate_playbooks
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI, GpuDriver, Smi
from gpustack.probes.gpu.packages import GPU_KERNELS, ONLY_WITH_GPU

FOLDERS = ("boot", "proc", "sys", "lib", "etc", "var")
FILES = locate_playbooks() / "roles" / "gpu_driver" / "files"
CompletedText = subprocess.CompletedProcess[str]


def write_program(world: Path, name: str, text: str) -> None:
    path = world / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(world: Path, script: str, **variables: str) -> CompletedText:
    """Run a script with the folders of the host in the world instead."""
    for folder in FOLDERS:
        (world / folder).mkdir(exist_ok=True)
    script = re.sub(rf"(?<![\w}}*])/({'|'.join(FOLDERS)})(?=[/ ])", rf"{world}/\1", script)
    env = variables | {"PATH": f"{world}/bin:{os.environ['PATH']}", "WORLD": str(world)}
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=60)


def offer_packages(world: Path, *names: str) -> None:
    """Offer these packages to apt-cache."""
    write_program(world, "apt-cache", f"case ' {' '.join(names)} ' in *\" $2 \"*) exit 0 ;; esac\nexit 100")


def choose_packages(world: Path, script: str, **variables: str) -> list[str]:
    process = run(world, f"set -eu\n{(FILES / script).read_text()}\necho $PACKAGES", **variables)
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


PIN = "nvidia-driver-pinning-595"
EXACT = f"{PIN}.91.07"


@pytest.mark.parametrize(
    ("packages", "candidate", "pin"),
    [
        ((PIN, EXACT), "", EXACT),
        ((PIN,), "", PIN),
        ((), "", EXACT),
        ((PIN, EXACT), PIN, PIN),
    ],
)
def test_the_pin_is_of_the_version_else_of_its_branch(
    tmp_path: Path, packages: tuple[str, ...], candidate: str, pin: str
) -> None:
    offer_packages(tmp_path, *packages)
    write_program(tmp_path, "apt-get", "exit 100")
    write_program(tmp_path, "dpkg-query", f'for name; do :; done\n[ "$name" != "{candidate}" ] || printf installed')
    assert choose_packages(tmp_path, "pin.sh", VERSION="595.91.07", SOURCES="nvidia") == [pin]


def install_kernels(world: Path, running: str, *kernels: str, images: str = "") -> None:
    write_program(world, "uname", f"echo {running}")
    write_program(world, "dpkg-query", f"printf '%b' '{images}'")
    (world / "boot").mkdir()
    for kernel in kernels:
        (world / "boot" / f"vmlinuz-{kernel}").touch()


def test_headers_are_chosen_for_this_and_newer_kernels(tmp_path: Path) -> None:
    running, old, newest = "6.1.0-28-amd64", "6.1.0-9-amd64", "6.1.0-31-amd64"
    images = f"linux-image-{newest} installed\\nlinux-image-amd64 installed\\nlinux-image-cloud-amd64 config-files\\n"
    install_kernels(tmp_path, running, old, running, newest, images=images)
    headers = [f"linux-headers-{part}" for part in (running, newest, "amd64")]
    offer_packages(tmp_path, *headers, f"linux-headers-{old}", "linux-headers-cloud-amd64")
    assert choose_packages(tmp_path, "headers.sh") == headers


def test_headers_present_or_unknown_to_apt_are_left_out(tmp_path: Path) -> None:
    """The second is a container's: it runs the kernel of its machine."""
    install_kernels(tmp_path, "6.18.44-lab")
    offer_packages(tmp_path)
    assert choose_packages(tmp_path, "headers.sh") == []
    build = tmp_path / "lib" / "modules" / "6.18.44-lab" / "build"
    build.mkdir(parents=True)
    (build / "Makefile").touch()
    offer_packages(tmp_path, "linux-headers-6.18.44-lab")
    assert choose_packages(tmp_path, "headers.sh") == []


@pytest.mark.parametrize(
    ("package", "unknown"),
    [
        ("apt linux-headers-virtual", ("linux-headers-extra-virtual",)),
        ("apt linux-headers-virtual linux-headers-extra-virtual", ()),
        ("", ()),
    ],
)
def test_the_probe_names_headers_that_apt_does_not_know(tmp_path: Path, package: str, unknown: tuple[str, ...]) -> None:
    """apt without lists of packages knows none at all, and that says nothing."""
    images = "".join(
        f"linux-image-{name} installed\\n" for name in ("6.8.0-79-generic", "extra-virtual", "unsigned-x", "virtual")
    )
    install_kernels(tmp_path, "6.8.0-79-generic", images=f"{images}linux-headers-virtual installed\\n")
    write_program(tmp_path, "modinfo", "exit 1")
    lists = "".join(f'[ "$name" != {name} ] || echo "{name} | 1 | http://x y"\n' for name in package.split())
    write_program(tmp_path, "apt-cache", f"shift\nfor name; do :\n{lists}done")
    process = run(tmp_path, str(GPU_KERNELS.question.script).removeprefix(ONLY_WITH_GPU))  # type: ignore[union-attr]
    assert process.returncode == 0, process.stderr
    assert GPU_KERNELS.extract_fact(Answer(GPU_KERNELS.id, "h1", 0, process.stdout)).unknown == unknown


def load_module(world: Path, *, modprobe: str, systemctl: str = "exit 1", fabric: str = "") -> CompletedText:
    install_kernels(world, "6.18.44-lab")
    write_program(world, "modprobe", modprobe)
    write_program(world, "modinfo", "exit 1")
    write_program(world, "systemctl", systemctl)
    write_program(world, "dkms", "exit 1")
    return run(world, (FILES / "build-log.sh").read_text() + (FILES / "load.sh").read_text(), FABRIC=fabric)


def test_a_module_is_loaded(tmp_path: Path) -> None:
    process = load_module(tmp_path, modprobe='[ "$1" != nvidia ] || echo loaded >>"$WORLD/asked"')
    assert (process.returncode, process.stdout) == (0, "changed: loaded nvidia\n")
    (tmp_path / "proc" / "driver" / "nvidia").mkdir(parents=True)
    (tmp_path / "proc" / "driver" / "nvidia" / "version").touch()
    (tmp_path / "boot").rmdir()
    assert load_module(tmp_path, modprobe='[ "$1" != nvidia ]').stdout == ""


def test_the_fabric_manager_is_started_where_it_is_wanted(tmp_path: Path) -> None:
    """A fabric manager that somebody installed on a host without switches ends at once, and is left alone."""
    systemctl = 'case $* in *is-active*) exit 3 ;; start*) echo "$2" >>"$WORLD/started" ;; esac'
    load_module(tmp_path, modprobe="exit 0", systemctl=systemctl)
    assert (tmp_path / "started").read_text() == "nvidia-persistenced.service\n"
    (tmp_path / "boot").rmdir()
    process = load_module(tmp_path, modprobe="exit 0", systemctl=systemctl, fabric="nvidia-fabricmanager")
    assert process.stdout.endswith("changed: started nvidia-fabricmanager\n")
    assert (tmp_path / "started").read_text().endswith("nvidia-fabricmanager.service\n")


def test_with_nouveau_nothing_is_loaded_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "sys" / "module" / "nouveau").mkdir(parents=True)
    process = load_module(tmp_path, modprobe="exit 1")
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_a_failure_ends_with_the_log_of_the_build(tmp_path: Path) -> None:
    log = tmp_path / "var" / "lib" / "dkms" / "nvidia" / "595.91.07" / "build" / "make.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {number}\n" for number in range(1, 41)) + "nv.c:1: error: too few arguments\n")
    process = load_module(tmp_path, modprobe="echo 'FATAL: Module nvidia not found.'; exit 1")
    assert process.returncode == 1
    first, second, *_, last = process.stderr.splitlines()
    assert first.endswith("FATAL: Module nvidia not found.")
    assert second.startswith("there is none for the kernel 6.18.44-lab")
    assert last == "nv.c:1: error: too few arguments"
    assert "line 20\n" not in process.stderr


MOK, DKMS = "var/lib/shim-signed/mok/MOK.der", "var/lib/dkms/mok.pub"


@pytest.mark.parametrize(
    ("system", "files", "settings", "key"),
    [
        ("ubuntu", (MOK, DKMS), "", MOK),
        ("ubuntu", (MOK,), "", MOK),
        ("ubuntu", (), "", MOK),
        ("ubuntu", (DKMS,), "", MOK),
        ("debian", (MOK, DKMS), "", DKMS),
        ("debian", (MOK, DKMS), 'mok_certificate="/WORLD/root/my.der"', "root/my.der"),
    ],
)
def test_the_key_that_dkms_signs_with_is_found(
    tmp_path: Path, system: str, files: tuple[str, ...], settings: str, key: str
) -> None:
    mokutil = f'[ "$2" != {tmp_path}/{key} ] || echo "$2 is already enrolled"'
    gpu_driver = find_key(tmp_path, system, files, mokutil, settings)
    assert (gpu_driver.key, gpu_driver.key_enrolled) == (f"{tmp_path}/{key}", key in (*files, "root/my.der"))


def find_key(world: Path, system: str, files: tuple[str, ...], mokutil: str, settings: str = "") -> GpuDriver:
    firmware = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    for name in (*files, "root/my.der", firmware, "etc/os-release", "etc/dkms/framework.conf"):
        (world / name).parent.mkdir(parents=True, exist_ok=True)
        (world / name).touch()
    (world / firmware).write_bytes(b"\6\0\0\0\1")
    (world / "etc/os-release").write_text(f"ID={system}\n")
    (world / "etc/dkms/framework.conf").write_text(settings.replace("/WORLD", str(world)) + "\n")
    write_program(world, "modprobe", "")
    write_program(world, "systemctl", "echo LoadState=not-found")
    write_program(world, "mokutil", mokutil)
    process = run(world, str(GPU_DRIVER.question.script).removeprefix(ONLY_WITH_GPU))  # type: ignore[union-attr]
    assert process.returncode == 0, process.stderr
    return GPU_DRIVER.extract_fact(Answer(GPU_DRIVER.id, "h1", 0, process.stdout))


@pytest.mark.parametrize(
    ("answer", "enrolled"),
    [
        ("is already enrolled", True),
        ("is already in db", True),
        ("is not enrolled", False),
        ("is already in the enrollment request", False),
        ("is blocked in dbx", False),
    ],
)
def test_a_key_is_enrolled_when_the_firmware_or_shim_has_it(tmp_path: Path, answer: str, enrolled: bool) -> None:
    """The answers of mokutil 0.7.2 (src/mokutil.c, test_key and print_skip_message)."""
    assert find_key(tmp_path, "debian", (DKMS,), f'echo "$2 {answer}"').key_enrolled is enrolled


def run_persistence(world: Path) -> None:
    """Let nvidia-persistenced run."""
    write_program(world, "grep", "exit 0")


def query_smi(world: Path, smi: str) -> Smi:
    write_program(world, "nvidia-smi", smi)
    script = str(GPU_SMI.question.script).removeprefix(ONLY_WITH_GPU)  # type: ignore[union-attr]
    env = {"PATH": f"{world}/bin:{os.environ['PATH']}"}
    limit = ["timeout", "-k", "1", str(GPU_SMI.limit), "sh", "-c", script]
    process = subprocess.run(limit, stdout=subprocess.PIPE, text=True, env=env, check=False, timeout=30)
    return GPU_SMI.extract_fact(Answer(GPU_SMI.id, "h1", process.returncode, process.stdout))


def test_nvidia_smi_answers(tmp_path: Path) -> None:
    assert query_smi(tmp_path, "echo 00000000:17:00.0").gpus == ("0000:17:00.0",)
    smi = query_smi(tmp_path, "echo 'GPU is lost'; exit 15")
    assert (smi.state, smi.rc, smi.message) == ("ended", 15, "GPU is lost")


def test_nvidia_smi_that_can_be_ended_is_slow_and_not_stuck(tmp_path: Path) -> None:
    run_persistence(tmp_path)
    with pytest.raises(FactUnavailable, match="no answer within"):
        query_smi(tmp_path, "exec sleep 20")


def test_without_persistence_eight_gpus_take_their_time(tmp_path: Path) -> None:
    write_program(tmp_path, "grep", "exit 1")
    smi = query_smi(tmp_path, "sleep 4; echo 00000000:17:00.0")
    assert (smi.state, smi.rc, smi.gpus, smi.rows) == ("ended", 0, ("0000:17:00.0",), None)


def test_nvidia_smi_that_cannot_be_ended_is_not_waited_for(tmp_path: Path) -> None:
    """A `timeout` that never comes back stands for uninterruptible sleep."""
    run_persistence(tmp_path)
    write_program(tmp_path, "timeout", "exec sleep 20 >/dev/null 2>&1")
    script = str(GPU_SMI.question.script).removeprefix(ONLY_WITH_GPU)  # type: ignore[union-attr]
    write_program(tmp_path, "nvidia-smi", "")
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    process = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=env, check=False, timeout=18)
    assert process.stdout.split() == ["hangs"]

"""Run a lab host as a virtual machine, on a tap of the lab's bridge."""

import hashlib
import os
import socket
import subprocess
import time
from pathlib import Path

from gpustack_lab.lab import background, locks
from gpustack_lab.lab.commands import PATH, run
from gpustack_lab.lab.state import EMULATION, Host, Record

PROGRAM = "qemu-system-x86_64"
KVM = Path("/dev/kvm")
FIRMWARE = Path("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd")  # of Debian's package ovmf
# kubeadm refuses fewer than two processors and 1700 MB for a control plane (cmd/kubeadm/app/constants/constants.go).
PROCESSORS, MEMORY_MB = 2, 4096
ACCELERATORS = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    # Without AVX and AVX2, which Go's runtime uses where there are: emulated, they take it up to four times as long.
    EMULATION: ("-accel", "tcg,thread=multi", "-cpu", "Nehalem,+rdrand"),
}
PROOF_LIMIT = 60.0
# What every Linux prints first (init/version-timestamp.c), on the console that `append` or an image names.
FIRST_WORDS = b"Linux version"
KERNEL_WORDS = "root=LABEL=root rw console=ttyS0 panic=10"


def start(record: Record, host: Host) -> None:
    """Start a host. Return when QEMU runs, before the host's kernel begins."""
    link = record.format_link_name(host)
    run(["ip", "tuntap", "add", "dev", link, "mode", "tap"])
    run(["ip", "link", "set", link, "master", record.bridge, "up"])
    locate_monitor(record, host).unlink(missing_ok=True)
    words = [*build_machine_options(record.locate_root(host), record.vm), *build_device_options(record, host)]
    background.start(record, host.name, [PROGRAM, *words])


def build_machine_options(root: Path, accelerator: str) -> list[str]:
    """Build the options for processors, memory and disks. A disk from a seed is started with its own kernel, an image
    by its own boot loader; with a file firmware.fd beside it, which holds its keys, by UEFI with Secure Boot."""
    secure = (root / "firmware.fd").exists()
    # Not every hypervisor below lets its guests use system management mode, which only the firmware's keys need.
    words = [
        "-nodefaults",
        "-no-user-config",
        "-machine",
        "q35,smm=on" if secure else "q35",
        *ACCELERATORS[accelerator],
    ]
    if secure:
        words += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
        words += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={FIRMWARE}"]
        words += ["-drive", f"if=pflash,unit=1,format=raw,file={escape_path(root / 'firmware.fd')}"]
    words += ["-smp", str(PROCESSORS), "-m", str(MEMORY_MB), "-display", "none", "-serial", "stdio"]
    words += ["-device", "virtio-rng-pci", "-rtc", "base=utc"]
    for disk in ("disk", "swap"):
        if (root / f"{disk}.img").exists():
            # Firmware boots the first disk: by its order on the bus that would be the one for cloud-init.
            order = ",bootindex=1" if disk == "disk" else ""
            file = escape_path(root / f"{disk}.img")
            words += ["-drive", f"if=none,id={disk},file={file},format=raw,cache=unsafe,discard=unmap"]
            words += ["-device", f"virtio-blk-pci,drive={disk}{order}"]
    if (root / "vmlinuz").exists():
        words += ["-kernel", str(root / "vmlinuz"), "-initrd", str(root / "initrd.img"), "-append", KERNEL_WORDS]
    if (root / "cidata").is_dir():
        words += [
            "-blockdev",
            f"driver=vvfat,node-name=seed,dir={escape_path(root / 'cidata')},label=cidata,read-only=on",
        ]
        words += ["-device", "virtio-blk-pci,drive=seed"]
    return words


def escape_path(path: Path) -> str:
    """Escape a path for an option of QEMU, in which a comma ends a value, and two of them are one."""
    return str(path).replace(",", ",,")


def build_device_options(record: Record, host: Host) -> list[str]:
    """Build the options that tie a host to this lab: its link, and the socket for its power button."""
    return [
        *("-name", record.format_machine_name(host)),
        *("-netdev", f"tap,id=net0,ifname={record.format_link_name(host)},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=net0,mac={compute_mac_address(record, host)}"),
        *("-monitor", f"unix:{locate_monitor(record, host)},server=on,wait=off"),
    ]


def compute_mac_address(record: Record, host: Host) -> str:
    """Compute the address of a host's link, below QEMU's own prefix 52:54:00."""
    digits = hashlib.sha256(record.format_machine_name(host).encode()).hexdigest()
    return ":".join(("52", "54", "00", digits[:2], digits[2:4], digits[4:6]))


def locate_monitor(record: Record, host: Host) -> Path:
    """Return the socket of a host in the run directory: its name has at most 107 bytes (unix(7))."""
    return Path("/run") / f"{record.format_machine_name(host)}.monitor"


def power_off(record: Record, host: Host) -> None:
    """Press the power button, which the host's systemd-logind hears. A host that is gone needs none."""
    try:
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(5.0)
            monitor.connect(str(locate_monitor(record, host)))
            monitor.sendall(b"system_powerdown\n")
    except OSError:
        return


def forget(record: Record, host: Host) -> None:
    """Delete the socket of a host that was killed."""
    locate_monitor(record, host).unlink(missing_ok=True)


def find_accelerator(root: Path) -> str:
    """Find `kvm` where a machine with this disk comes up by it, else `tcg`, QEMU's emulation, which is 10 to 20 times
    slower.

    /dev/kvm alone says little: inside another hypervisor it can be there and let every guest hang.
    """
    if not os.access(KVM, os.R_OK | os.W_OK):
        return EMULATION
    # It ends with this process, however that one ends: nothing else would find it.
    words = ["setpriv", "--pdeathsig=KILL", PROGRAM, *build_machine_options(root, "kvm"), "-snapshot", "-no-reboot"]
    trial = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": PATH},
        pass_fds=locks.list_descriptors(),
    )
    assert trial.stdout
    os.set_blocking(trial.stdout.fileno(), False)
    text, deadline = b"", time.monotonic() + PROOF_LIMIT
    try:
        while FIRST_WORDS not in text and trial.poll() is None and time.monotonic() < deadline:
            text += trial.stdout.read() or b""
            time.sleep(0.1)
    finally:
        trial.kill()
        trial.wait()
        trial.stdout.close()
    return "kvm" if FIRST_WORDS in text else EMULATION

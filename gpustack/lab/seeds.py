"""Seeds: one bare root per Debian release and recipe, made once by mmdebstrap and copied for every lab host."""

import hashlib
import os
import shutil
from pathlib import Path

from gpustack.events import Event, Reporter
from gpustack.lab import pool
from gpustack.lab.commands import run
from gpustack.lab.releases import RELEASES, Packages, packages
from gpustack.lab.state import locked

# What a minimal server installation has, and no more: what the cluster needs is for the product to install.
INCLUDE = (
    "systemd systemd-sysv dbus udev openssh-server sudo python3 iproute2 iptables nftables procps kmod iputils-ping "
    "curl ca-certificates gpg"
)
MASKED = (
    "systemd-networkd-wait-online.service getty.target console-getty.service apt-daily.timer apt-daily-upgrade.timer "
    "e2scrub_all.timer fstrim.timer"
)
# Modules that kernels without module support have built in; `modprobe` of them succeeds as on a kernel that has modules.
BUILT_IN = (
    "fs/overlayfs/overlay net/bridge/bridge net/bridge/br_netfilter drivers/net/vxlan/vxlan drivers/net/veth "
    "net/netfilter/nf_conntrack net/netfilter/nf_tables net/netfilter/nf_nat net/netfilter/xt_comment "
    "net/ipv4/netfilter/ip_tables net/ipv4/netfilter/iptable_nat net/ipv4/netfilter/iptable_filter"
)
CUSTOMIZE = f"""set -e
root="$1"
chroot "$root" update-ca-certificates >/dev/null
chroot "$root" useradd --create-home --shell /bin/bash ops
echo 'ops ALL=(ALL) NOPASSWD:ALL' > "$root/etc/sudoers.d/ops"
chmod 440 "$root/etc/sudoers.d/ops"
printf 'PermitRootLogin no\\nPasswordAuthentication no\\n' > "$root/etc/ssh/sshd_config.d/10-keys-only.conf"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/resolv.conf" "$root/etc/apt/apt.conf.d/99mmdebstrap"
: > "$root/etc/machine-id"
chroot "$root" systemctl --quiet enable systemd-networkd ssh
chroot "$root" systemctl --quiet mask {MASKED}
"""


def seed(release: str, directory: Path, report: Reporter) -> Path:
    """The subvolume to copy hosts of `release` from; made first if this recipe was never built (20 to 60 s)."""
    source = packages(release)
    path = directory / "seeds" / f"{release}-{digest(release, source)}"
    with locked(f"seed-{release}"):
        if not path.exists():
            report(Event("waiting", release, "making the bare root from Debian packages, about a minute, once"))
            _build(release, source, path)
            report(Event("done", release, "bare root made"))
    return path


def digest(release: str, source: Packages) -> str:
    text = [release, source.sources, source.settings, INCLUDE, CUSTOMIZE, BUILT_IN, os.uname().release]
    text += [f"{name} {hashlib.sha256(pem).hexdigest()}" for name, pem in source.certificates.items()]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()[:12]


def _build(release: str, source: Packages, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    work = path.with_name(path.name + ".work")
    if part.exists():
        pool.delete(part)
    shutil.rmtree(work, ignore_errors=True)
    certificates = work / "ca-certificates"
    certificates.mkdir(parents=True)
    for name, pem in source.certificates.items():
        (certificates / name).write_bytes(pem)
    (work / "sources").write_text(source.sources)
    (work / "90proxy.conf").write_text(source.settings)
    (work / "customize").write_text(CUSTOMIZE)
    modules = work / "modules"
    modules.mkdir()
    (modules / "modules.order").write_text("")
    (modules / "modules.builtin").write_text("".join(f"kernel/{module}.ko\n" for module in BUILT_IN.split()))
    pool.create(part)
    run(
        [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            f"--include={','.join(INCLUDE.split())}",
            f"--aptopt={work / '90proxy.conf'}",
            "--dpkgopt=force-unsafe-io",
            f"--customize-hook=mkdir -p \"$1/usr/local/share/ca-certificates\" \"$1/lib/modules/{os.uname().release}\"",
            f"--customize-hook=cp -r {certificates}/. \"$1/usr/local/share/ca-certificates/\"",
            f"--customize-hook=cp {work}/90proxy.conf \"$1/etc/apt/apt.conf.d/90proxy.conf\"",
            f"--customize-hook=cp -r {modules}/. \"$1/lib/modules/{os.uname().release}/\"",
            f"--customize-hook=chroot \"$1\" depmod {os.uname().release}",
            f"--customize-hook=sh {work}/customize \"$1\"",
            RELEASES[release],
            str(part),
            str(work / "sources"),
        ],
        limit=900.0,
    )
    shutil.rmtree(work)
    part.rename(path)

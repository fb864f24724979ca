"""Seeds: one bare root per Debian release and recipe, built once by mmdebstrap and copied for every lab host."""

import hashlib
import shlex
import shutil
import time
from pathlib import Path

from gpustack.events import Event, Reporter
from gpustack_lab.lab import pool
from gpustack_lab.lab.commands import run
from gpustack_lab.lab.locks import hold_lock
from gpustack_lab.lab.releases import RELEASES, Packages, build_packages

# Packages of a minimal server installation, and no more: the product installs what a cluster needs.
INCLUDE = (
    "systemd,systemd-sysv,dbus,udev,openssh-server,sudo,python3,iproute2,iptables,nftables,procps,kmod,iputils-ping,"
    "curl,ca-certificates,gpg"
)
# A virtual machine brings its own kernel, and AppArmor, which Debian's kernels turn on.
OWN_KERNEL = "linux-image-cloud-amd64,apparmor"
BUILT_IN = """\
kernel/fs/overlayfs/overlay.ko
kernel/net/bridge/bridge.ko
kernel/net/bridge/br_netfilter.ko
kernel/drivers/net/vxlan/vxlan.ko
kernel/drivers/net/veth.ko
kernel/net/netfilter/nf_conntrack.ko
kernel/net/netfilter/nf_tables.ko
kernel/net/netfilter/nf_nat.ko
kernel/net/netfilter/xt_comment.ko
kernel/net/ipv4/netfilter/ip_tables.ko
kernel/net/ipv4/netfilter/iptable_nat.ko
kernel/net/ipv4/netfilter/iptable_filter.ko
"""
CUSTOMIZE = Path(__file__).with_name("customize.sh")
# Files of single releases: os-release, apt preferences while a root is built, a customize.sh after the common one.
ROOTS = Path(__file__).with_name("roots")
# Debian 11 is made without merged /usr unless asked for; Ubuntu 22.04 has it.
OPTIONS = {
    "old-tools": ("--include=usrmerge",),
    "new-tools": ("--include=rust-coreutils,sudo-rs",),
}
# mmdebstrap, its mounts and its children end with the process that started it, however that one ends.
GUARD = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")


def build_seed(release: str, mount: Path, report: Reporter, *, kernel: bool = False) -> Path:
    """Return the subvolume to copy hosts of `release` from. It is built first where there is none (half a minute or
    more). With `kernel` it has a kernel of its own, for a virtual machine."""
    source = build_packages(release)
    name = f"vm-{release}" if kernel else release
    path = mount / "seeds" / f"{name}-{digest(release, source, kernel=kernel)}"
    with hold_lock(f"seed-{name}"):
        if not path.exists():
            start_time = time.monotonic()
            report(Event("waiting", release, "a bare root is made from Debian packages, about a minute, once"))
            for old_seed in path.parent.glob(f"{name}-*"):
                pool.delete(old_seed)
            _build(release, source, path, kernel=kernel)
            report(Event("done", release, "the bare root is made", time.monotonic() - start_time))
    return path


def digest(release: str, source: Packages, *, kernel: bool = False) -> str:
    text = [OWN_KERNEL] if kernel else []
    text += [release, source.sources, source.newer, source.settings, INCLUDE, BUILT_IN, CUSTOMIZE.read_text()]
    text += [path.read_text() for path in sorted((ROOTS / release).glob("*"))] + list(OPTIONS.get(release, ()))
    text += [f"{name} {hashlib.sha256(pem).hexdigest()}" for name, pem in source.certificates.items()]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()[:12]


def _build(release: str, source: Packages, path: Path, *, kernel: bool) -> None:
    part, input_dir = path.with_name(f"{path.name}.part"), path.parents[1] / f"given-{path.name.rpartition('-')[0]}"
    shutil.rmtree(input_dir, ignore_errors=True)
    (input_dir / "certificates").mkdir(parents=True)
    for name, pem in source.certificates.items():
        (input_dir / "certificates" / name).write_bytes(pem)
    (input_dir / "own-sources").write_text(source.sources)
    (input_dir / "sources").write_text(f"{source.sources}\n{source.newer}")
    (input_dir / "90machine").write_text(source.settings)
    if not kernel:
        (input_dir / "modules.builtin").write_text(BUILT_IN)
    pool.create(part)
    run(
        [
            *GUARD,
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            f"--include={','.join((INCLUDE, OWN_KERNEL) if kernel else (INCLUDE,))}",
            f"--aptopt={input_dir / '90machine'}",
            "--dpkgopt=force-unsafe-io",
            f'--customize-hook=sh {shlex.quote(str(CUSTOMIZE))} "$1" {shlex.quote(str(input_dir))}',
            *build_hooks(ROOTS / release),
            *OPTIONS.get(release, ()),
            RELEASES[release],
            str(part),
            str(input_dir / "sources"),
        ],
        limit=900.0,
    )
    shutil.rmtree(input_dir)
    part.rename(path)


def build_hooks(release_dir: Path) -> list[str]:
    """Build the options of mmdebstrap for the files that a release has of its own."""
    hooks = {
        "preferences": 'setup-hook=cp {} "$1/etc/apt/preferences.d/newer"',
        "os-release": 'customize-hook=cp {} "$1/usr/lib/os-release"',
        "customize.sh": 'customize-hook=sh {} "$1"',
    }
    return [
        f"--{hook.format(shlex.quote(str(release_dir / name)))}"
        for name, hook in hooks.items()
        if (release_dir / name).exists()
    ]

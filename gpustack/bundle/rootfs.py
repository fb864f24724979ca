"""File trees of images that need more than one static program: network tools and a shell, from the userland part."""

import re
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle import userland
from gpustack.bundle.cache import Made
from gpustack.bundle.oci import TMP, Link
from gpustack.bundle.programs import run
from gpustack.errors import BundleError

Content = Mapping[str, Path | bytes | Link]


def network(tools: Made) -> Content:
    """iptables over nftables, nft, conntrack, ip and all their libraries. /bin, /sbin and /lib lead into /usr.

    The extensions of iptables have libraries of their own: one that is missing (libxt_statistic.so wants libm) leaves
    every Service with two endpoints dead while all looks well.
    """
    root = tools.directory / "root"
    extensions = sorted(str(path) for path in tools.files if re.search(r"/xtables/.*\.so$", path))
    programs = [
        "/usr/sbin/xtables-nft-multi",
        _program(tools, "nft"),
        _program(tools, "conntrack"),
        _program(tools, "ip"),
        _program(tools, "busybox"),
    ]
    content: dict[str, Path | bytes | Link] = {
        **userland.closure(root, programs + ["/" + path.removeprefix("root/") for path in extensions])
    }
    content.pop("/usr/bin/busybox")
    for family in ("iptables", "ip6tables"):
        for verb in ("", "-save", "-restore"):
            content[f"/usr/sbin/{family}{verb}"] = Link("xtables-nft-multi")
    for directory in ("bin", "sbin", "lib", "lib64"):
        content[f"/{directory}"] = Link(f"usr/{directory}")
    for package in userland.packages(tools):
        copyright_file = root / "usr/share/doc" / package.name / "copyright"
        if copyright_file.is_file():
            content[f"/usr/share/doc/{package.name}/copyright"] = copyright_file.read_bytes()
    return content


def shell(tools: Made) -> Content:
    """busybox under all its names; needs the libraries of `network`. The static busybox crashes in name lookups."""
    program = tools.directory / "root" / _program(tools, "busybox").lstrip("/")
    content: dict[str, Path | bytes | Link] = {
        f"/usr/bin/{name}": Link("busybox") for name in run([program, "--list"], limit=20).split()
    }
    content |= {
        "/usr/bin/busybox": program,
        "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
        "/etc/group": b"root:x:0:\nnogroup:x:65534:\n",
        "/etc/services": b"http 80/tcp\nhttps 443/tcp\n",
        "/etc/nsswitch.conf": b"hosts: files dns\n",
        f"{TMP}/.keep": b"",
    }
    return content


def _program(tools: Made, name: str) -> str:
    """Where a package put a program: /bin and /usr/bin are not merged in a package."""
    for directory in ("usr/sbin", "usr/bin", "sbin", "bin"):
        if f"root/{directory}/{name}" in tools.files:
            return f"/{directory}/{name}"
    raise BundleError("bundle-library-missing", f"no package brought {name}", str(tools.directory))

"""File trees of images that need more than one static program: network tools and a shell, from the userland part."""

import re
from collections.abc import Mapping
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack_lab.bundle import userland
from gpustack_lab.bundle.cache import BuiltPart
from gpustack_lab.bundle.oci import TMP, Link

Content = Mapping[str, Path | bytes | Link]

# What programs that are not static want of glibc, and what a GPU driver's libraries want that join them in a container.
LIBC = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")

# For programs on an empty base: users by name, and a place for temporary files.
ACCOUNTS: Content = {
    "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    "/etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    f"{TMP}/.keep": b"",
}


def collect_network_tools(tools: BuiltPart) -> Content:
    """Collect iptables over nftables, nft, conntrack, ip and all their libraries. /bin, /sbin and /lib lead into /usr.

    The extensions of iptables have libraries of their own: one that is missing (libxt_statistic.so needs libm) leaves
    every Service with two endpoints dead while everything else looks healthy.
    """
    root = tools.directory / "root"
    extensions = sorted(str(path) for path in tools.files if re.search(r"/xtables/.*\.so$", path))
    programs = [
        "/usr/sbin/xtables-nft-multi",
        _locate_program(tools, "nft"),
        _locate_program(tools, "conntrack"),
        _locate_program(tools, "ip"),
        _locate_program(tools, "busybox"),
    ]
    content: dict[str, Path | bytes | Link] = {
        **userland.resolve_libraries(root, programs + ["/" + path.removeprefix("root/") for path in extensions])
    }
    content.pop("/usr/bin/busybox")
    for family in ("iptables", "ip6tables"):
        for verb in ("", "-save", "-restore"):
            content[f"/usr/sbin/{family}{verb}"] = Link("xtables-nft-multi")
    return {**content, **_link_directories(), **_collect_copyrights(tools)}


def collect_libc(tools: BuiltPart) -> Content:
    """Collect glibc and its loader, for programs that are not static and for `collect_shell`. /bin, /sbin and /lib lead
    into /usr."""
    root = tools.directory / "root"
    libraries = {Path(path).name: "/" + path.removeprefix("root/") for path in tools.files}
    missing = [name for name in LIBC if name not in libraries]
    if missing:
        raise BundleError("bundle-library-missing", f"no package brought {', '.join(missing)}", str(tools.directory))
    content: dict[str, Path | bytes | Link] = {**userland.resolve_libraries(root, [libraries[name] for name in LIBC])}
    return {**content, **_link_directories(), **_collect_copyrights(tools)}


def _link_directories() -> Content:
    return {f"/{directory}": Link(f"usr/{directory}") for directory in ("bin", "sbin", "lib", "lib64")}


def _collect_copyrights(tools: BuiltPart) -> Content:
    copyrights = {}
    for package in userland.read_packages(tools):
        copyright_file = tools.directory / "root/usr/share/doc" / package.name / "copyright"
        if copyright_file.is_file():
            copyrights[f"/usr/share/doc/{package.name}/copyright"] = copyright_file.read_bytes()
    return copyrights


def collect_shell(tools: BuiltPart) -> Content:
    """Collect busybox under all its names. It needs the files of `collect_network_tools` or `collect_libc`: the static
    busybox crashes in name lookups."""
    program = tools.directory / "root" / _locate_program(tools, "busybox").lstrip("/")
    content: dict[str, Path | bytes | Link] = {
        f"/usr/bin/{name}": Link("busybox") for name in run([program, "--list"], limit=20).split()
    }
    content |= {
        "/usr/bin/busybox": program,
        **ACCOUNTS,
        "/etc/services": b"http 80/tcp\nhttps 443/tcp\n",
        "/etc/nsswitch.conf": b"hosts: files dns\n",
    }
    return content


def _locate_program(tools: BuiltPart, name: str) -> str:
    """Locate a program of a package: /bin and /usr/bin are not merged in a package."""
    for directory in ("usr/sbin", "usr/bin", "sbin", "bin"):
        if f"root/{directory}/{name}" in tools.files:
            return f"/{directory}/{name}"
    raise BundleError("bundle-library-missing", f"no package brought {name}", str(tools.directory))

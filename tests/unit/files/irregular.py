"""Names that are not regular files, and documents that are small and stand for much."""

import os
import socket
from collections.abc import Callable
from pathlib import Path


def make_link(path: Path) -> None:
    path.symlink_to("precious")


def make_dangling(path: Path) -> None:
    path.symlink_to("absent")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def make_endless(path: Path) -> None:
    """Make a file with a hole: 64 GiB that take no place on the disk."""
    path.touch()
    os.truncate(path, 64 * 2**30)


UNWRITABLE: tuple[Callable[[Path], None], ...] = (
    make_link, make_dangling, make_loop, os.mkfifo, make_socket, Path.mkdir,
)  # fmt: skip
UNREADABLE: tuple[Callable[[Path], None], ...] = (
    make_dangling, make_loop, os.mkfifo, make_socket, Path.mkdir, link_to_zeros, link_to_pipe, make_endless,
)  # fmt: skip


def make_bomb(levels: int, width: int = 9) -> str:
    """Return YAML whose aliases stand for width ** levels values."""
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{index}: &a{index} [{', '.join([f'*a{index - 1}'] * width)}]" for index in range(1, levels)]
    return "\n".join(lines) + "\n"


def make_merge_bomb(levels: int, width: int = 9) -> str:
    """Return YAML whose merge keys stand for width ** levels values."""
    lines = [f"a0: &a0 {{{', '.join(f'k{index}: x' for index in range(width))}}}"]
    lines += [f"a{index}: &a{index} {{<<: [{', '.join([f'*a{index - 1}'] * width)}]}}" for index in range(1, levels)]
    return "\n".join(lines) + "\n"


HOSTILE_YAML = {
    "bomb of eight levels": make_bomb(8),
    "bomb of thirty levels": make_bomb(30, 2),
    "bomb of merge keys": make_merge_bomb(8),
    "alias of itself": "a: &a [*a]\n",
    "alias of what is around it": "a: &a {b: {c: *a}}\n",
    "5000 brackets": "a: " + "[" * 5000 + "\n",
    "5000 closed brackets": "a: " + "[" * 5000 + "]" * 5000 + "\n",
    "5000 braces": "{a: " * 5000,
    "deep lists": "- " * 5000,
}

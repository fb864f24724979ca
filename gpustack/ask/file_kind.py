"""The kind of a file that a command cannot read, by its first bytes: another file of gpustack, or a compressed one."""

import re
from pathlib import Path

HEAD_SIZE = 200
"""Bytes that are looked at."""
SCHEMA = re.compile(rb'(?:\xef\xbb\xbf)?\s{0,9}\{\s{0,9}"schema"\s{0,9}:\s{0,9}"(gpustack/[a-z-]{1,40})/v')
RECORDING, QUERIES, PROFILE = "gpustack/recording", "gpustack/queries", "gpustack/profile"
WRITERS = {
    RECORDING: "`gpustack snapshot` wrote it, for commands such as `gpustack doctor`",
    QUERIES: "a command such as `gpustack gpu list` wrote it with --record, for the same command",
    PROFILE: "`gpustack profile record` wrote it, for commands such as `gpustack profile analyze`",
}
RESULT = "it is a result of `-o json`, which no command reads"
DECOMPRESSORS = {b"\x1f\x8b": "gunzip", b"\x28\xb5\x2f\xfd": "unzstd", b"\xfd7zXZ": "unxz", b"BZh": "bunzip2"}


def describe_kind_of_file(head: bytes, expected: str) -> str:
    """Describe a file by its beginning. Return an empty text for one of the expected kind or of another program."""
    for magic, program in DECOMPRESSORS.items():
        if head.startswith(magic):
            return f"it is compressed: unpack it with `{program}` first"
    match = SCHEMA.match(head)
    kind = match[1].decode() if match else expected
    return "" if kind == expected else WRITERS.get(kind, RESULT)


def read_head(path: Path) -> bytes:
    """Read the first bytes of a regular file that was opened before."""
    with path.open("rb") as file:
        return file.read(HEAD_SIZE)

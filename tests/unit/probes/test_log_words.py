"""Lines of logs are read without their headers. The lines are of recorded outputs."""

import pytest

from gpustack.probes.log_lines import strip_prefix

SANDBOX = (
    'time="2026-11-22T17:08:54.442281752Z" level=error msg="RunPodSandbox for name:\\"waiter\\" failed, error" '
    'error="rpc error: code = NotFound desc = failed to pull image \\"registry.k8s.io/pause:0.0\\": not found"'
)
PROFILING = 'time="2026-11-22T08:20:29Z" level=error msg="The third-party Profiling module returned an error"'
MANIFEST = """E1122 17:47:35.901944  252669 file.go:186] "Could not process manifest file" err="couldn't parse" """


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (SANDBOX, 'rpc error: code = NotFound desc = failed to pull image "registry.k8s.io/pause:0.0": not found'),
        (PROFILING, "The third-party Profiling module returned an error"),
        (MANIFEST, """"Could not process manifest file" err="couldn't parse" """),
        ("2026-11-22T16:34:24.935186225Z stdout F Could not resolve", "Could not resolve"),
        ('2026-11-22T16:34:24.9Z stderr F time="x" level=info msg="a"', "a"),
        ('time="x" level=info msg="broken', 'msg="broken'),
        ('time="x" level=info msg="a\\x"', 'msg="a\\x"'),
        ("Error: unknown flag: --a", "Error: unknown flag: --a"),
        ("", ""),
    ],
)
def test_prefixes_of_log_lines_are_stripped(line: str, words: str) -> None:
    assert strip_prefix(line) == words

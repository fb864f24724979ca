"""Completion in a shell: of commands, options and the names that arguments take."""

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpustack in", {"init", "install"}),
        ("gpustack lab re", {"restore", "recover"}),
        ("gpustack lab inject host-ip-forward", {"host-ip-forward-off/live"}),
        ("gpustack lab up --model H1", {"H100"}),
        ("gpustack lab gpu set host1 power", {"power-brake"}),
        ("gpustack plan --only gpu-me", {"gpu-metrics"}),
        ("gpustack plan --lim", {"--limit"}),
        ("gpustack access gra", {"grafana"}),
        ("gpustack explain prereqs/swap", {"prereqs/swap-off"}),
        ("gpustack doctor --fix host-ip-for", {"host-ip-forward-off"}),
        ("gpustack doctor -o ht", {"html"}),
        ("gpustack doctor --fix gpu-f", {"gpu-fell-off-bus"}),
        ("gpustack explain Gpu", {"GpuLost"}),
        ("gpustack explain metric SM_A", {"SM_ACTIVE"}),
        ("gpustack explain metric gpustack_doc", {"gpustack_doctor_healthy"}),
        ("gpustack gpu watch SM_", {"SM_ACTIVE"}),
        ("gpustack gpu burn --field pipe-t", {"pipe-tensor-active"}),
        ("gpustack capacity report --by no", {"node"}),
        ("gpustack cost report --by pool,nam", {"pool,namespace"}),
        ("gpustack profile analyze --threshold dra", {"dram="}),
    ],
)
def test_what_is_typed_is_completed(text: str, expected: set[str]) -> None:
    words = {"COMP_WORDS": text, "COMP_CWORD": str(len(text.split()) - 1)}
    environment = {"_GPUSTACK_COMPLETE": "complete_bash", **words}
    result = CliRunner().invoke(app, [], prog_name="gpustack", env=environment)
    assert set(result.stdout.split()) >= expected
    assert all(name.startswith(text.rsplit(maxsplit=1)[-1]) for name in result.stdout.split())

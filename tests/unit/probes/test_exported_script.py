"""The probe of what exporters serve, run in a shell with a curl of its own."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.ask.probe import Lines
from gpustack.probes.standalone.answers import EXPORTER_STATE

# For each metric that a client leaves behind, node-exporter 1.12.1 logs an error, as on a Debian 12 lab host: "error
# encoding and sending metric family: write tcp 127.0.0.1:9100->127.0.0.1:45998: write: broken pipe".
CURL = """#!/bin/sh
for last; do :; done
case $last in
  *:9400/*) exit 22 ;;
esac
awk 'BEGIN { for (i = 0; i < 50000; i++) print "PREFIX_cpu_seconds_total{cpu=\\"" i "\\"} 1" }' && echo read >"$LOG"
"""


@pytest.mark.parametrize(("prefix", "match"), [("node", "yes"), ("other", "no")])
def test_what_an_exporter_serves_is_read_to_the_end(tmp_path: Path, prefix: str, match: str) -> None:
    (tmp_path / "curl").write_text(CURL.replace("PREFIX", prefix))
    (tmp_path / "curl").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GPU_EXPORTER_PORT": "9400",
        "NODE_EXPORTER_PORT": "9100",
        "LOG": str(tmp_path / "log"),
    }
    question = EXPORTER_STATE.question
    assert isinstance(question, Lines)
    process = subprocess.run(
        ["sh", "-s"], input=question.script, capture_output=True, text=True, env=environment, check=True
    )
    assert process.stdout == f"gpus none\nnode {match}\n"
    assert (tmp_path / "log").read_text() == "read\n"

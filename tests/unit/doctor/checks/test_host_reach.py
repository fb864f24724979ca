"""Hosts that cannot be asked: which of both faults it is, and that nobody is guessed at."""

from dataclasses import replace

import pytest

from gpustack.ask.snapshot import Reach
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import hosts


@pytest.mark.parametrize(
    ("reference", "ssh", "sudo"),
    [
        ("", "ok", "ok"),
        ("host-ssh-unreachable", "failed", "unknown"),
        ("host-key-unknown", "failed", "unknown"),
        ("host-sudo-password", "ok", "failed"),
        ("host-no-sudo", "ok", "failed"),
    ],
)
def test_an_unreachable_host_fails_by_its_reason(reference: str, ssh: str, sudo: str) -> None:
    before = hosts.build_snapshot()
    snapshot = replace(before, reach={**before.reach, "h1": Reach("h1", reference, "it said so")})
    assert evaluate("host-ssh-unreachable", snapshot).outcome == ssh
    assert evaluate("host-sudo-password", snapshot).outcome == sudo
    assert evaluate("st-host-unmanaged", snapshot).outcome == ("failed" if reference else "ok")


def test_a_host_that_nobody_asked_is_unknown() -> None:
    snapshot = replace(hosts.build_snapshot(), reach={})
    assert summarize(evaluate("host-ssh-unreachable", snapshot)) == ("unknown", "h1 was not contacted")

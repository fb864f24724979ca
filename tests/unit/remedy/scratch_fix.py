"""Fixes on a scratch host, each with its record, its work and its roll-back."""

from collections.abc import Callable

import pytest

from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.records import HostRecord
from gpustack.remedy.scope import SYSCTL_FILE, HostResource, Scope, declare_sysctl
from gpustack.remedy.step_scope import declare_resources
from gpustack.remedy.undo import Rollback, find_last_fix, roll_back
from tests.unit.remedy.scratch_host import ScratchHost

IP, CRI = "host-ip-forward-off", "containerd-cri-disabled"
FORWARD = declare_sysctl({"net.ipv4.ip_forward": "1"})
CONTAINERD = Scope(
    (*declare_resources("containerd"), HostResource("file", "/etc/containerd/conf.d/a b.toml", ("present",)))
)
TEXT = """# Written by gpustack doctor: another file sets these keys otherwise, and this one is read after it.
net.ipv4.ip_forward = 1
"""
SITE = "etc/containerd/conf.d/a b.toml"


def forward(host: ScratchHost) -> None:
    """Change IP forwarding as the role sysctl does."""
    host.write(SYSCTL_FILE[1:], TEXT)
    (host.folder / "keys" / "net.ipv4.ip_forward").write_text("1\n")


def make_fix(
    copies: Copies, work: Callable[[], object], id: str = "1", fault: str = IP, scope: Scope = FORWARD
) -> HostRecord:
    copies.begin(id, fault, {"h1": scope})
    work()
    (record,) = copies.finish(id, ["h1"])
    return record


def take_back(copies: Copies) -> Rollback:
    return roll_back(copies, find_last_fix(copies, ["h1"]), lambda _: None)


def try_to_take_back(copies: Copies, *refusals: str) -> None:
    """Take back what can be. It may be refused because all was changed, or for these reasons."""
    try:
        take_back(copies)
    except RolloutError as error:
        if error.reference not in ("undo-changed-since", *refusals):
            raise


def expect_refusal(copies: Copies) -> RolloutError:
    with pytest.raises(RolloutError) as excinfo:
        find_last_fix(copies, ["h1"])
    return excinfo.value

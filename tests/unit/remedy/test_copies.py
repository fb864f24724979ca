"""The scripts of the copies, run for real below a scratch root: what the fix left goes back byte for byte, with mode
and target; everything else stays."""

from pathlib import Path

import pytest

from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.scope import SYSCTL_FILE
from gpustack.remedy.undo import find_last_fix
from tests.unit.remedy.scratch_fix import (
    CONTAINERD,
    CRI,
    FORWARD,
    IP,
    SITE,
    expect_refusal,
    forward,
    make_fix,
    take_back,
)
from tests.unit.remedy.scratch_host import ScratchHost, connect_copies


def test_everything_is_as_it_was(host: ScratchHost, copies: Copies) -> None:
    before = host.list_files()
    record = make_fix(copies, lambda: forward(host))
    assert (record.files, record.keys) == ((SYSCTL_FILE,), ("net.ipv4.ip_forward 0 -> 1",))
    last_fix = find_last_fix(copies, ["h1"])
    assert (last_fix.fault, last_fix.hosts) == (IP, ("h1",))
    rollback = take_back(copies)
    assert host.list_files() == before
    assert rollback.actions == (f"h1: removed {SYSCTL_FILE}", "h1: set net.ipv4.ip_forward = 0")
    assert rollback.remainders == ()
    assert not (host.folder / "fixes").exists()


def test_content_mode_owner_and_links_return(host: ScratchHost, copies: Copies) -> None:
    site = host.write(SITE, "x = 1\n", 0o640)
    main = host.root / "etc/containerd/config.toml"
    main.symlink_to("nowhere")
    before = host.list_files()

    def change_files() -> None:
        site.write_text("x = 2\n")
        site.chmod(0o600)
        main.unlink()
        host.write("etc/containerd/config.toml", "version = 3\n")
        host.write("etc/containerd/conf.d/gpustack.toml", "ours\n")
        (host.folder / "startups" / "containerd").write_text("enabled\n")

    (host.folder / "startups" / "containerd").write_text("disabled\n")
    record = make_fix(copies, change_files, fault=CRI, scope=CONTAINERD)
    assert set(record.files) == {f"/{SITE}", "/etc/containerd/config.toml", "/etc/containerd/conf.d/gpustack.toml"}
    rollback = take_back(copies)
    assert host.list_files() == before
    assert {f"h1: restored /{SITE}", "h1: removed /etc/containerd/conf.d/gpustack.toml"} <= set(rollback.actions)
    assert {"systemctl --quiet disable containerd", "systemctl restart containerd"} <= set(host.calls)
    copy = host.folder / "fixes/1/after" / SITE
    assert copy.read_text() == "x = 2\n", "what the play writes there is not known: it may be a person's"


def test_a_containerd_that_refuses_what_was_restored_runs_on(host: ScratchHost, copies: Copies) -> None:
    """containerd 2.3.4 refuses its files in these words, and would exit."""
    refusal = "containerd: drop-in config version 4 higher than root config version 3"
    host.give_tool("containerd", f"#!/bin/sh\necho '{refusal}' >&2\nexit 1\n")
    host.write("etc/containerd/config.toml", "version = 3\n")
    make_fix(copies, lambda: host.write("etc/containerd/config.toml", "version = 4\n"), fault=CRI, scope=CONTAINERD)
    rollback = take_back(copies)
    assert [line for line in host.calls if "restart" in line] == []
    assert "h1: restored /etc/containerd/config.toml" in rollback.actions
    assert [str(line) for line in rollback.remainders] == [
        f"h1: containerd stays: it runs on, since it refuses its files: {refusal}"
    ]


def test_only_declared_files_are_copied(host: ScratchHost, copies: Copies) -> None:
    for name in ("shadow", "ssh/ssh_host_ed25519_key", "kubernetes/admin.conf", "sysctl.d/other.conf"):
        host.write(f"etc/{name}", "password\n", 0o600)
    host.write(SYSCTL_FILE[1:], "earlier\n")
    copies.begin("1", IP, {"h1": FORWARD})
    copies_before = [path for path in (host.folder / "fixes/1/before").rglob("*") if path.is_file()]
    assert [path.name for path in copies_before] == ["zzz-gpustack.conf"]
    assert (host.folder / "fixes").stat().st_mode & 0o777 == 0o700
    assert (host.folder / "fixes/1/record").stat().st_mode & 0o777 == 0o600


def test_what_the_fix_did_not_change_is_not_kept(host: ScratchHost, copies: Copies) -> None:
    """Such as the login of a proxy, which the step may write as well."""
    login = host.write("etc/apt/auth.conf.d/gpustack-mirror.conf", "password\n", 0o600)
    make_fix(copies, lambda: host.write(SITE, "x = 2\n"), fault=CRI, scope=CONTAINERD)
    pages = [path for path in (host.folder / "fixes").rglob("*") if path.is_file() and "password" in path.read_text()]
    assert pages == []
    login.write_text("another\n")
    assert take_back(copies).remainders == ()
    assert login.read_text() == "another\n"


def test_five_fixes_are_kept_and_the_last_one_comes_first(host: ScratchHost, copies: Copies) -> None:
    for number in range(1, 7):
        make_fix(copies, lambda number=number: host.write(SITE, str(number)), str(number), CRI, CONTAINERD)  # type: ignore[misc]
    assert sorted(path.name for path in (host.folder / "fixes").iterdir()) == ["2", "3", "4", "5", "6"]
    for number in (6, 5):
        assert find_last_fix(copies, ["h1"]).id == str(number)
        take_back(copies)
        assert (host.root / SITE).read_text() == str(number - 1)


def test_without_a_fix_there_is_nothing_to_undo(copies: Copies) -> None:
    assert expect_refusal(copies).reference == "undo-nothing"


def test_a_fix_of_two_hosts_is_not_half_undone(host: ScratchHost, tmp_path: Path) -> None:
    two = connect_copies({"h1": host, "h2": ScratchHost(tmp_path / "two")})
    two.begin("1", IP, {"h1": FORWARD, "h2": FORWARD})
    two.finish("1", ["h1", "h2"])
    with pytest.raises(RolloutError, match="more hosts"):
        find_last_fix(connect_copies({"h1": host}), ["h1"])


def test_where_one_host_keeps_no_copies_none_does(host: ScratchHost) -> None:
    with pytest.raises(RolloutError) as excinfo:
        connect_copies({"h1": host}).begin("1", IP, {"h1": FORWARD, "h2": FORWARD})
    assert excinfo.value.reference == "fix-copies"
    assert not (host.folder / "fixes").exists()


@pytest.mark.parametrize("damage", ["torn", "other machine", "earlier release"])
def test_a_record_that_cannot_be_used_restores_nothing(host: ScratchHost, copies: Copies, damage: str) -> None:
    make_fix(copies, lambda: forward(host))
    record = host.folder / "fixes/1/record"
    if damage == "torn":
        record.write_text(record.read_text()[:-20])
    elif damage == "other machine":
        host.write("etc/machine-id", "f" * 32 + "\n")
    else:
        record.rename(record.with_name("finished"))
    current_files = host.list_files()
    refusal = expect_refusal(copies)
    assert refusal.reference == "undo-record-unreadable"
    assert str(host.folder / "fixes/1") in refusal.message
    assert host.list_files() == current_files


def test_an_undo_that_was_broken_off_is_taken_up_again(host: ScratchHost, copies: Copies) -> None:
    """Half of it is as it was before the fix, the other half as the fix left it."""
    host.write(SITE, "x = 1\n")
    before = host.list_files()

    def change_files() -> None:
        host.write(SITE, "x = 2\n")
        host.write("etc/containerd/conf.d/gpustack.toml", "ours\n")

    make_fix(copies, change_files, fault=CRI, scope=CONTAINERD)
    record = copies.read("h1")
    assert record
    copies.restore(record, record.changes)
    host.write(SITE, "x = 2\n")
    take_back(copies)
    assert host.list_files() == before
    assert expect_refusal(copies).reference == "undo-nothing"

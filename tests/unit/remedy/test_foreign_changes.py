"""Check that changes of other people before, during and after a fix survive its roll-back."""

import subprocess

import pytest

from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.scope import SYSCTL_FILE, HostResource, Scope
from gpustack.remedy.step_scope import declare_resources
from gpustack.remedy.undo import LastFix, find_last_fix, roll_back
from tests.unit.remedy.scratch_fix import (
    CONTAINERD,
    CRI,
    FORWARD,
    IP,
    SITE,
    TEXT,
    expect_refusal,
    forward,
    make_fix,
    take_back,
    try_to_take_back,
)
from tests.unit.remedy.scratch_host import ScratchHost


def test_a_colleague_s_work_in_etc_survives(host: ScratchHost, copies: Copies) -> None:
    """A fix that does not help, while somebody adds a cron file and a package changes its own."""
    app = host.write("etc/app.conf", "old\n")

    def change_files() -> None:
        forward(host)
        host.write("etc/cron.d/nightly-backup", "0 3 * * * root backup\n")
        app.write_text("new\n")

    make_fix(copies, change_files)
    rollback = take_back(copies)
    assert (host.root / "etc/cron.d/nightly-backup").read_text() == "0 3 * * * root backup\n"
    assert app.read_text() == "new\n"
    assert not any(
        "nightly" in line or "app.conf" in line for line in (*rollback.actions, *map(str, rollback.remainders))
    )


def test_a_killed_fix_is_undone_days_later(host: ScratchHost, copies: Copies) -> None:
    """A week of /etc is not taken back; what the role would have written is."""
    copies.begin("1", IP, {"h1": FORWARD})
    forward(host)
    host.write("etc/new-service.conf", "since Tuesday\n")
    last_fix = find_last_fix(copies, ["h1"])
    assert not last_fix.records[0].finished
    rollback = roll_back(copies, last_fix, lambda _: None)
    assert rollback.actions == (f"h1: removed {SYSCTL_FILE}", "h1: set net.ipv4.ip_forward = 0")
    assert (host.root / "etc/new-service.conf").read_text() == "since Tuesday\n"


def test_a_killed_fix_leaves_what_nobody_knows(host: ScratchHost, copies: Copies) -> None:
    host.write(SITE, "x = 1\n")
    copies.begin("1", CRI, {"h1": CONTAINERD})
    host.write(SITE, "x = 2\n")
    refusal = expect_refusal(copies)
    assert refusal.reference == "undo-changed-since"
    assert "interrupted" in refusal.reason
    assert f"diff -u '/var/lib/gpustack-cluster/fixes/1/before/{SITE}' '/{SITE}'" in refusal.reason
    assert (host.root / SITE).read_text() == "x = 2\n"


@pytest.mark.parametrize("change", ["content", "mode", "link", "folder", "gone", "moved"])
def test_a_later_change_stays(host: ScratchHost, copies: Copies, change: str) -> None:
    make_fix(copies, lambda: host.write(SYSCTL_FILE[1:], TEXT))
    path = host.root / SYSCTL_FILE[1:]
    if change == "content":
        path.write_text("3\n")
    elif change == "mode":
        path.chmod(0o666)
    elif change == "moved":
        path.parent.rename(host.root / "srv")
        path.parent.symlink_to(host.root / "srv")
    else:
        path.unlink()
    if change == "link":
        path.symlink_to("/etc/hosts")
    if change == "folder":
        host.write(f"{SYSCTL_FILE[1:]}/inside", "deep\n")
    current_files = host.list_files()
    if change == "gone":
        assert take_back(copies).actions == ()
    else:
        refusal = expect_refusal(copies)
        assert refusal.reference == "undo-changed-since"
        assert SYSCTL_FILE in refusal.reason
    assert host.list_files() == current_files


def test_what_is_as_left_goes_and_what_was_changed_stays(host: ScratchHost, copies: Copies) -> None:
    """Keep the copies of a changed file for a person, and undo the fix before it next."""
    make_fix(copies, lambda: forward(host), "1")
    host.write(SITE, "x = 1\n")

    def change_files() -> None:
        host.write(SITE, "x = 2\n")
        host.write("etc/containerd/conf.d/gpustack.toml", "ours\n")

    make_fix(copies, change_files, "2", CRI, CONTAINERD)
    host.write(SITE, "x = 3\n")
    rollback = take_back(copies)
    assert "h1: removed /etc/containerd/conf.d/gpustack.toml" in rollback.actions
    (remainder,) = rollback.remainders
    assert str(remainder).startswith(
        f"h1: /{SITE} stays: it was changed after gpustack wrote it (the fix left file 644 "
    )
    assert (host.root / SITE).read_text() == "x = 3\n"
    assert (host.folder / "fixes/2/before" / SITE).read_text() == "x = 1\n"
    assert find_last_fix(copies, ["h1"]).id == "1"


@pytest.mark.parametrize(
    ("after", "later", "expected"), [("1", "1", "0"), ("1", "0", "0"), ("1", "2", "2"), ("2", "2", "2")]
)
def test_a_parameter_returns_only_from_the_value_that_the_fix_set(
    host: ScratchHost, copies: Copies, after: str, later: str, expected: str
) -> None:
    key = host.folder / "keys" / "net.ipv4.ip_forward"
    make_fix(copies, lambda: key.write_text(f"{after}\n"))
    key.write_text(f"{later}\n")
    try_to_take_back(copies)
    assert key.read_text() == f"{expected}\n"


@pytest.mark.parametrize(
    ("before", "after", "later", "calls"),
    [
        ("inactive", "active", "active", ["systemctl stop kubelet"]),
        ("active", "failed", "failed", ["systemctl start kubelet"]),
        # A person stopped it while the play ran: no role stops a unit.
        ("active", "inactive", "inactive", []),
        ("inactive", "active", "failed", []),
        ("inactive", "activating", "active", ["systemctl stop kubelet"]),
    ],
)
def test_a_unit_returns_only_from_the_state_that_the_fix_left(
    host: ScratchHost, copies: Copies, before: str, after: str, later: str, calls: list[str]
) -> None:
    unit = host.folder / "units" / "kubelet"
    unit.write_text(f"{before}\n")
    make_fix(
        copies,
        lambda: unit.write_text(f"{after}\n"),
        fault="kubelet-not-running",
        scope=Scope((HostResource("unit", "kubelet", ("active", "failed")),)),
    )
    unit.write_text(f"{later}\n")
    try_to_take_back(copies)
    assert [call for call in host.calls if " start " in call or " stop " in call] == calls


def test_a_host_that_lies_about_its_record_has_nothing_else_changed(host: ScratchHost, copies: Copies) -> None:
    shadow = host.write("etc/shadow", "passwords\n", 0o600)
    make_fix(copies, lambda: forward(host))
    record = host.folder / "fixes/1/record"
    digest = subprocess.run(["sha256sum", shadow], capture_output=True, text=True, check=True).stdout.split()[0]
    state = f"file 600 {shadow.stat().st_uid} {shadow.stat().st_gid} {digest}"
    lines = [
        f"thing\tfile\t/etc/shadow\tabsent\t{state}\t-",
        f"thing\tfile\t/etc/sysctl.d/../shadow\tabsent\t{state}\t-",
    ]
    record.write_text(record.read_text().replace("end\n", "\n".join([*lines, "end", ""])))
    rollback = take_back(copies)
    assert shadow.read_text() == "passwords\n"
    assert [line for line in rollback.remainders if "/etc/shadow stays: gpustack has no record of it" in str(line)]
    assert f"h1: removed {SYSCTL_FILE}" in rollback.actions


def test_an_id_that_is_no_name_of_a_fix_is_never_sent(host: ScratchHost, copies: Copies) -> None:
    for id in ("..", "../x", "1/2", ".", "x"):
        with pytest.raises(RolloutError, match="no name of a fix"):
            copies.forget("h1", id)
    assert not host.script


def test_a_change_between_the_question_and_the_restore_stays(host: ScratchHost, copies: Copies) -> None:
    make_fix(copies, lambda: forward(host))
    last_fix: LastFix = find_last_fix(copies, ["h1"])
    host.write(SYSCTL_FILE[1:], "mine\n")
    rollback = roll_back(copies, last_fix, lambda _: None)
    assert (host.root / SYSCTL_FILE[1:]).read_text() == "mine\n"
    assert f"h1: {SYSCTL_FILE} stays: it was changed at this moment" in map(str, rollback.remainders)


def test_a_unit_that_the_fix_brought_is_stopped_and_disabled_before_its_file_goes(
    host: ScratchHost, copies: Copies
) -> None:
    unit = "gpustack-firewall-metrics"

    def change_files() -> None:
        host.write(f"etc/systemd/system/{unit}.service", "[Service]\n")
        (host.folder / "units" / unit).write_text("active\n")
        (host.folder / "startups" / unit).write_text("enabled\n")

    host.give_tool("rm", '#!/bin/sh\necho "rm $*" >>"$ROOT/../calls"\nexec /bin/rm "$@"\n')
    before = host.list_files()
    make_fix(copies, change_files, fault="host-ufw-blocks-pods", scope=Scope(declare_resources("firewall")))
    take_back(copies)
    assert {path: state for path, state in host.list_files().items() if path in before} == before
    calls = [call for call in host.calls if unit in call]
    assert calls[:2] == [f"systemctl stop {unit}", f"systemctl --quiet disable {unit}"]
    assert calls[2].startswith("rm ")
    assert not (host.root / f"etc/systemd/system/{unit}.service").exists()


@pytest.mark.parametrize("loader_before", [None, "#!/bin/sh\n"])
def test_a_table_of_packets_goes_where_the_fix_brought_what_loads_it(
    host: ScratchHost, copies: Copies, loader_before: str | None
) -> None:
    """The kernel keeps a table when the unit that loaded it stops."""
    loader, table = "usr/local/lib/gpustack/firewall-node-ports", host.folder / "tables"
    host.give_tool(
        "nft",
        """#!/bin/sh
echo "nft $*" >>"$ROOT/../calls"
case $1 in
  list) grep -qx "$3 $4" "$ROOT/../tables" ;;
  delete) : >"$ROOT/../tables" ;;
esac
""",
    )
    if loader_before:
        host.write(loader, loader_before, 0o755)

    def change_files() -> None:
        host.write(loader, "#!/bin/sh\n# other sources\n", 0o755)
        table.write_text("inet gpustack_node_ports\n")

    make_fix(copies, change_files, fault="host-ufw-blocks-pods", scope=Scope(declare_resources("firewall")))
    rollback = take_back(copies)
    assert bool(table.read_text()) == bool(loader_before)
    assert ("h1: removed nft table inet gpustack_node_ports" in rollback.actions) == (not loader_before)

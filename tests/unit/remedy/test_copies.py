"""The script of the copies, run for real below an invented root: back byte for byte, with mode and target."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.ask.snapshot import Reach
from gpustack.ask.transport.refusal import HostRefused
from gpustack.config.host import Host
from gpustack.errors import RolloutError
from gpustack.remedy.copies import Copies
from gpustack.remedy.undo import find_last, put_back

HOSTS = (Host("h1", "10.0.0.1"), Host("h2", "10.0.0.2"))
# Units and kernel parameters as files of the invented host; each call is noted.
TOOLS = {
    "systemctl": """#!/bin/sh
echo "systemctl $*" >>$ROOT/../calls
case "$1" in
  show) for unit; do :; done; cat "$ROOT/../units/$unit" 2>/dev/null || echo inactive ;;
  start) echo active >"$ROOT/../units/$2" ;;
  stop) echo inactive >"$ROOT/../units/$2" ;;
esac
""",
    "sysctl": """#!/bin/sh
case "$1" in
  -n) cat "$ROOT/../keys/$2" ;;
  -qw) echo "${2#*=}" >"$ROOT/../keys/${2%%=*}" ;;
esac
""",
    "kubectl": """#!/bin/sh
case "$*" in
  *api-resources*) printf 'configmaps\\ndeployments.apps\\n' ;;
  get*) cat "$ROOT/../objects" ;;
  *) echo "kubectl $1" >>"$ROOT/../calls"; cat >>"$ROOT/../calls"; echo >>"$ROOT/../calls" ;;
esac
""",
}


class Machine:
    """One invented host below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        for name in ("root/etc/containerd/conf.d", "root/etc/sysctl.d", "tools", "units", "keys"):
            (folder / name).mkdir(parents=True)
        for name, text in TOOLS.items():
            (folder / "tools" / name).write_text(text)
            (folder / "tools" / name).chmod(0o755)
        (folder / "units" / "containerd").write_text("active\n")
        (folder / "keys" / "net.ipv4.ip_forward").write_text("0\n")
        (folder / "objects").write_text(listed())

    def run(self, script: str) -> list[str]:
        env = {
            "ROOT": str(self.root),
            "TOOLS": str(self.folder / "tools"),
            "ALL": str(self.folder / "fixes"),
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=env, check=False)
        return [*done.stdout.splitlines(), *done.stderr.splitlines()]

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def inventory(self) -> dict[str, tuple[int, int, int, str]]:
        found = {}
        for path in sorted(self.root.rglob("*")):
            about = path.lstat()
            text = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
            found[str(path)] = (about.st_mode, about.st_uid, about.st_gid, text)
        return found

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return [line for line in path.read_text().splitlines() if " show " not in line] if path.exists() else []


def listed(*items: tuple[str, str]) -> str:
    """ConfigMaps by name, with what they say, as kubectl prints a list."""
    maps = [
        {
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "n", "resourceVersion": text},
            "data": {"a": text},
        }
        for name, text in items
    ]
    return json.dumps({"items": maps}, indent=1)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def copies(machine: Machine) -> Copies:
    return talking({"h1": machine})


def talking(machines: dict[str, Machine]) -> Copies:
    def run(host: Host, script: str, **_: object) -> Iterator[str]:
        if host.name not in machines:
            raise HostRefused(Reach(host.name, "host-ssh-unreachable", "timeout"))
        yield from machines[host.name].run(script)

    return Copies(HOSTS, run)


def begin(copies: Copies, id: str = "1", fault: str = "some-fault", kinds: tuple[str, ...] = ()) -> None:
    copies.begin(id, fault, ["h1"], ["net.ipv4.ip_forward"], kinds)


def test_everything_is_as_it_was(machine: Machine, copies: Copies) -> None:
    file = machine.write("etc/containerd/conf.d/a b.toml", "x = 1\n", 0o640)
    machine.write("etc/sysctl.d/old.conf", "gone\n", 0o600)
    (machine.root / "etc" / "link").symlink_to("nowhere")
    before = machine.inventory()
    begin(copies)
    file.write_text("x = 2\n")
    file.chmod(0o600)
    (machine.root / "etc/sysctl.d/old.conf").unlink()
    machine.write("etc/new/deep/file", "new\n")
    (machine.root / "etc" / "link").unlink()
    (machine.root / "etc" / "link").symlink_to("elsewhere")
    (machine.folder / "keys" / "net.ipv4.ip_forward").write_text("1\n")
    (machine.folder / "units" / "kubelet").write_text("active\n")
    (kept,) = copies.finish("1", ["h1"])
    assert set(kept.files) == {
        "etc/containerd/conf.d/a b.toml", "etc/sysctl.d/old.conf", "etc/link", "etc/new", "etc/new/deep",
        "etc/new/deep/file",
    }  # fmt: skip
    assert (kept.units, kept.keys) == (("kubelet inactive -> active",), ("net.ipv4.ip_forward 0 -> 1",))
    found = find_last(copies, ["h1"])
    assert (found.fault, found.hosts) == ("some-fault", ("h1",))
    did = put_back(copies, found.id, found.hosts)
    assert machine.inventory() == before
    assert "h1: removed /etc/new/deep/file" in did
    assert "h1: restored /etc/containerd/conf.d/a b.toml" in did
    assert "h1: set net.ipv4.ip_forward = 0" in did
    assert {"systemctl restart containerd", "systemctl stop kubelet"} <= set(machine.calls)
    assert not (machine.folder / "fixes").exists()


def test_what_stays_as_it_is_is_not_kept(machine: Machine, copies: Copies) -> None:
    machine.write("etc/secret", "password\n", 0o600)
    begin(copies)
    machine.write("etc/other", "new\n")
    copies.finish("1", ["h1"])
    assert not [
        path for path in (machine.folder / "fixes").rglob("*") if path.is_file() and "password" in path.read_text()
    ]
    assert (machine.folder / "fixes").stat().st_mode & 0o777 == 0o700


def test_keys_and_passwords_of_the_host_are_never_copied(machine: Machine, copies: Copies) -> None:
    """Not even while the fix is at work, or after it was killed."""
    files = ("shadow", "gshadow-", "ssh/ssh_host_ed25519_key", "ssl/private/a.key", "kubernetes/admin.conf")
    for name in files:
        machine.write(f"etc/{name}", "password\n", 0o600)
    machine.write("etc/kubernetes/manifests/etcd.yaml", "pod\n")
    begin(copies)
    packed = subprocess.run(
        ["tar", "-tf", machine.folder / "fixes/1/copies.tar"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "etc/kubernetes/manifests/etcd.yaml" in packed
    assert [name for name in files if f"etc/{name}" in packed] == []
    machine.write("etc/shadow", "another\n", 0o600)
    (kept,) = copies.finish("1", ["h1"])
    assert kept.files == ()


def test_a_later_change_is_not_undone(machine: Machine, copies: Copies) -> None:
    file = machine.write("etc/sysctl.d/a.conf", "1\n")
    begin(copies)
    file.write_text("2\n")
    copies.finish("1", ["h1"])
    file.write_text("3\n")
    with pytest.raises(RolloutError) as raised:
        find_last(copies, ["h1"])
    assert (raised.value.reference, raised.value.why) == ("undo-changed-since", "h1: /etc/sysctl.d/a.conf")
    assert file.read_text() == "3\n"


def test_a_mode_that_was_changed_since_counts(machine: Machine, copies: Copies) -> None:
    begin(copies)
    file = machine.write("etc/sysctl.d/new.conf", "2\n")
    copies.finish("1", ["h1"])
    file.chmod(0o666)
    with pytest.raises(RolloutError, match="changed since"):
        find_last(copies, ["h1"])


def test_what_was_broken_off_is_undone_too(machine: Machine, copies: Copies) -> None:
    file = machine.write("etc/sysctl.d/a.conf", "1\n")
    begin(copies)
    file.write_text("half")
    found = find_last(copies, ["h1"])
    assert found.kept[0].unfinished
    put_back(copies, found.id, found.hosts)
    assert file.read_text() == "1\n"


def test_the_last_fix_comes_first_and_five_are_kept(machine: Machine, copies: Copies) -> None:
    for number in range(1, 7):
        begin(copies, str(number), f"fault-{number}")
        machine.write("etc/x", str(number))
        copies.finish(str(number), ["h1"])
    assert sorted(path.name for path in (machine.folder / "fixes").iterdir()) == ["2", "3", "4", "5", "6"]
    for number in (6, 5):
        found = find_last(copies, ["h1"])
        assert found.fault == f"fault-{number}"
        put_back(copies, found.id, found.hosts)
        assert (machine.root / "etc/x").read_text() == str(number - 1)


def test_nothing_to_take_back(copies: Copies) -> None:
    with pytest.raises(RolloutError) as raised:
        find_last(copies, ["h1"])
    assert raised.value.reference == "undo-nothing"


def test_a_fix_of_two_hosts_is_not_half_undone(machine: Machine, tmp_path: Path) -> None:
    two = talking({"h1": machine, "h2": Machine(tmp_path / "two")})
    two.begin("1", "some-fault", ["h1", "h2"], [], ())
    two.finish("1", ["h1", "h2"])
    with pytest.raises(RolloutError, match="more hosts"):
        find_last(talking({"h1": machine}), ["h1"])


def test_where_one_host_keeps_no_copies_none_does(machine: Machine) -> None:
    with pytest.raises(RolloutError) as raised:
        talking({"h1": machine}).begin("1", "f", ["h1", "h2"], [], ())
    assert raised.value.reference == "fix-copies"
    assert not (machine.folder / "fixes").exists()


def test_objects_are_put_back_and_what_was_made_goes(machine: Machine, copies: Copies) -> None:
    objects = machine.folder / "objects"
    objects.write_text(listed(("same", "1"), ("changed", "1"), ("gone", "1")))
    begin(copies, kinds=("configmaps", "unknown.example.org"))
    objects.write_text(listed(("same", "1"), ("changed", "2"), ("made", "2")))
    copies.finish("1", ["h1"])
    found = find_last(copies, ["h1"])
    assert [str(one) for one in found.objects] == [f"ConfigMap n/{name}" for name in ("changed", "gone", "made")]
    put_back(copies, found.id, found.hosts)
    calls = [line for line in machine.calls if not line.startswith("systemctl")]
    words = [(calls[at], [item["metadata"]["name"] for item in json.loads(calls[at + 1])["items"]]) for at in (0, 2, 4)]
    assert words == [("kubectl replace", ["changed"]), ("kubectl create", ["gone"]), ("kubectl delete", ["made"])]


def test_an_object_that_was_changed_since_is_left(machine: Machine, copies: Copies) -> None:
    objects = machine.folder / "objects"
    objects.write_text(listed(("a", "1")))
    begin(copies, kinds=("configmaps",))
    objects.write_text(listed(("a", "2")))
    copies.finish("1", ["h1"])
    objects.write_text(listed(("a", "3")))
    with pytest.raises(RolloutError) as raised:
        find_last(copies, ["h1"])
    assert raised.value.why == "ConfigMap n/a"


def test_an_undo_that_was_broken_off_is_taken_up_again(machine: Machine, copies: Copies) -> None:
    """Half of it is as it was before the fix, the other half as the fix left it."""
    machine.write("etc/sysctl.d/10-mine.conf", "a = 1\n")
    machine.write("etc/containerd/conf.d/site.toml", "x = 1\n")
    before = machine.inventory()
    begin(copies)
    machine.write("etc/sysctl.d/10-mine.conf", "a = 2\n")
    machine.write("etc/containerd/conf.d/site.toml", "x = 2\n")
    made = machine.write("etc/sysctl.d/zzz-gpustack.conf", "b = 1\n")
    copies.finish("1", ["h1"])
    copies.undo("h1", "1")
    machine.write("etc/containerd/conf.d/site.toml", "x = 2\n")
    assert not made.exists()
    last = find_last(copies, ["h1"])
    put_back(copies, last.id, last.hosts)
    assert machine.inventory() == before
    with pytest.raises(RolloutError) as caught:
        find_last(copies, ["h1"])
    assert caught.value.reference == "undo-nothing"

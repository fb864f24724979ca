"""`reset`: shown before it is asked, asked before it is done; some hosts need a further word; exit codes."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask import gather as gathering
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.command import Command
from gpustack.errors import GpustackError, LockedError, UnreachableError
from gpustack.report.removal.text import describe_pods
from gpustack.rollout import evidence, playbook
from gpustack.rollout import run as locked_run
from gpustack.rollout.lease import Places
from gpustack.rollout.plan import PlaybookRun
from tests.worlds.results.resets import LINK
from tests.worlds.snapshots.reset_hosts import INVENTORY, PLANE, WORKER, build_node, build_nodes, build_snapshot

CLUSTER = {"k1": PLANE, "k2": WORKER}
# Nothing of gpustack is on the host.
ETCD_OF_OTHERS = {
    "owned.records": '{"cluster": ""}\n{"path": "/var/lib/etcd/member", "kind": "data", "now": "present of no cluster",'
    ' "before": "", "after": "", "cluster": "", "run": "", "at": ""}\n',
    "owned.control-plane": "file /var/lib/etcd/member\n",
}


class World:
    """Hosts as they are, and after a play as `after` has them. What was locked and played is kept."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self.snapshots, self.locked_hosts, self.played_hosts = [before, after], list[str](), list[Sequence[str]]()
        self.under_lock = before

    def gather(self, *_: Any, **__: Any) -> Snapshot:
        return (
            self.snapshots[1]
            if self.played_hosts
            else self.under_lock
            if "held" in self.locked_hosts
            else self.snapshots[0]
        )

    def play(self, name: str, hosts: Sequence[str], *_: Any, **__: Any) -> PlaybookRun:
        assert (name, self.locked_hosts[-1]) == ("reset", "held"), "the lock is held while it plays"
        self.played_hosts.append(list(hosts))
        return PlaybookRun(name, tuple(hosts), tuple(hosts), (), (), 1.0, Command("ansible-playbook", "reset.yml"))

    @contextmanager
    def lock(self, places: Places, doing: str, **_: Any) -> Iterator[SimpleNamespace]:
        self.locked_hosts += [f"{places.first_hosts[0].name} {doing}", "held"]
        yield SimpleNamespace(loss_reason="", run="", expiry=inf)
        self.locked_hosts.append("released")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., World]:
    def build_world(before: Snapshot, after: Snapshot | None = None) -> World:
        fake_world = World(before, after or build_snapshot())
        monkeypatch.setattr(session, "open_inventory", lambda *_, **__: INVENTORY)
        monkeypatch.setattr(gathering, "gather", fake_world.gather)
        monkeypatch.setattr(playbook, "play", fake_world.play)
        monkeypatch.setattr(locked_run, "hold_locks", fake_world.lock)
        monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / "runs")
        monkeypatch.setattr(evidence, "build_recorder", lambda folder, onward, secrets: onward)
        return fake_world

    return build_world


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["reset", *words])


def expect_error(*words: str) -> GpustackError:
    error = run(*words).exception
    assert isinstance(error, GpustackError), error
    return error


def test_without_a_terminal_nothing_is_removed_but_all_is_shown(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot(CLUSTER))
    result = run("-q")
    assert isinstance(result.exception, GpustackError)
    assert (result.exception.reference, result.exception.code) == ("reset-declined", 5)
    assert result.exception.hint == "gpustack reset --yes -i hosts.yml"
    assert "k1  control plane of gpustack at https://10.0.0.1:6443" in result.stdout
    assert "pods stop      1 of yours (default/web), 1 of Kubernetes" in result.stdout
    assert "link cni0" in result.stdout
    assert (fake_world.played_hosts, fake_world.locked_hosts) == ([], [])


def test_the_hint_is_for_the_hosts_that_were_named(world: Callable[..., World]) -> None:
    world(build_snapshot(CLUSTER))
    hint = expect_error("-q", "--limit", "k2", "--packages", "-K").hint
    assert hint == "gpustack reset --yes -i hosts.yml --limit k2 --packages -K"


@pytest.mark.parametrize(("text", "plays"), [("y\n", 1), ("yes\n", 1), ("n\n", 0), ("\n", 0), ("", 0)])
def test_on_a_terminal_only_a_yes_removes(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, text: str, plays: int
) -> None:
    class Terminal:
        isatty = staticmethod(lambda: True)
        readline = staticmethod(lambda: text)

    monkeypatch.setattr(sys, "stdin", Terminal())
    fake_world = world(build_snapshot(CLUSTER))
    with pytest.raises((SystemExit, GpustackError)):
        app(["reset", "-q"])
    assert len(fake_world.played_hosts) == plays


def test_what_is_there_is_removed_under_the_lock_and_asked_for_again(
    world: Callable[..., World], tmp_path: Path
) -> None:
    fake_world = world(build_snapshot(CLUSTER))
    result = run("--yes", "-q")
    assert result.exit_code == 0, result.exception
    assert "nothing of gpustack is left" in result.stdout
    assert fake_world.played_hosts == [["k1", "k2"]]
    assert fake_world.locked_hosts == ["k1 reset", "held", "released"]
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.split("-")[1] == "reset"
    assert {path.name for path in folder.iterdir()} == {"overlay.yml", "snapshot.jsonl"}


def test_nothing_to_do_takes_no_lock(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot())
    result = run("-q")
    assert (result.exit_code, fake_world.locked_hosts) == (0, [])
    assert "nothing of gpustack is on them" in result.stdout


def test_a_program_gets_one_document(world: Callable[..., World]) -> None:
    world(build_snapshot(CLUSTER), build_snapshot({"k2": LINK}))
    result = run("--yes", "-q", "-o", "json")
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit"]["code"], result.exit_code) == ("gpustack/reset/v1", 6, 6)
    two = document["hosts"][1]
    assert two["traces"] == {"flannel": ["link cni0"], "control-plane": ["/etc/kubernetes/kubelet.conf"]}
    assert two["remaining_traces"] == {"flannel": ["link cni0"]}
    assert document["next"] == "gpustack reset -i hosts.yml"


def test_nothing_to_do_is_a_document(world: Callable[..., World]) -> None:
    world(build_snapshot(unreached_hosts=("k3",)))
    result = run("-q", "-o", "json")
    document = json.loads(result.stdout)
    assert (document["exit"]["code"], result.exit_code, document["unreachable_hosts"], document["playbook_run"]) == (
        8,
        8,
        ["k3"],
        None,
    )


@pytest.mark.parametrize(
    ("hosts", "words", "reference"),
    [
        ({"k1": PLANE, "k2": WORKER | {"leftovers.kubernetes": "https://old:6443\n"}}, [], "reset-foreign"),
        ({"k3": ETCD_OF_OTHERS}, [], "reset-foreign"),
        (CLUSTER, ["--limit", "k1"], "reset-orphans"),
        (CLUSTER | {"k3": {"leftovers.kubernetes": "/etc/rancher/k3s\n"}}, ["--foreign"], "reset-distribution"),
    ],
)
def test_some_resets_are_refused_even_with_yes(
    world: Callable[..., World], hosts: dict[str, Any], words: list[str], reference: str
) -> None:
    fake_world = world(build_snapshot(hosts))
    assert expect_error("--yes", "-q", *words).reference == reference
    assert (fake_world.played_hosts, fake_world.locked_hosts) == ([], [])


def build_identity(id: str) -> dict[str, str]:
    return {"system.identity": f"{id * 32}\n\n"}


@pytest.mark.parametrize(
    ("hosts", "words", "reason"),
    [
        (
            CLUSTER | {"k2": WORKER | build_identity("f")},
            [],
            "k2: machine-id: 22222222222222222222222222222222 -> ffffffffffffffffffffffffffffffff",
        ),
        (CLUSTER | {"k2": {}}, [], "k2: API servers: 10.0.0.1:6443 -> none"),
        (CLUSTER | {"k2": WORKER | {"owned.membership": "?"}}, [], "k2: credentials of node: k2 -> cannot be read"),
        (CLUSTER | {"k2": PLANE | {"owned.control-plane": ""}}, ["--limit", "k2"], "k2: data of etcd: none -> yes"),
        (CLUSTER | {"k2": WORKER | {"leftovers.kubernetes": "/etc/k0s\n"}}, [], "Kubernetes: none -> k0s"),
    ],
    ids=["another machine", "rebuilt", "no answer", "made a control plane", "another kind"],
)
def test_a_host_that_changed_while_the_yes_was_waited_for_is_not_touched(
    world: Callable[..., World], hosts: dict[str, Any], words: list[str], reason: str
) -> None:
    fake_world = world(build_snapshot(CLUSTER))
    fake_world.under_lock = build_snapshot(hosts)
    error = expect_error("--yes", "-q", *words)
    assert (error.reference, fake_world.played_hosts) == ("reset-changed-since", [])
    assert reason in error.reason


def test_a_host_that_was_lost_meanwhile_ends_it_too(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot(CLUSTER))
    fake_world.under_lock = build_snapshot(CLUSTER, unreached_hosts=("k2",))
    error = expect_error("--yes", "-q")
    assert (error.reference, error.reason) == ("reset-changed-since", "k2: it no longer responds")
    assert fake_world.played_hosts == []


def test_a_worker_that_joined_meanwhile_is_not_left_without_its_control_plane(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot({"k1": PLANE}))
    fake_world.under_lock = build_snapshot(CLUSTER)
    assert expect_error("--yes", "-q", "--limit", "k1").reference == "reset-orphans"
    assert fake_world.played_hosts == []


def test_pods_that_came_and_went_are_no_change(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot(CLUSTER))
    busy_worker = WORKER | {"owned.membership": WORKER["owned.membership"] + "default/job-2\n"}
    fake_world.under_lock = build_snapshot(CLUSTER | {"k2": busy_worker})
    assert run("--yes", "-q").exit_code == 0
    assert fake_world.played_hosts == [["k1", "k2"]]


def test_another_cluster_s_host_needs_its_own_word(world: Callable[..., World]) -> None:
    fake_world = world(
        build_snapshot(
            {"k1": PLANE, "k2": WORKER | {"leftovers.kubernetes": "https://old:6443\n"}}, build_nodes(build_node("k1"))
        )
    )
    error = expect_error("--yes", "-q", "--limit", "k2")
    assert error.reason == "k2: it is a node (k2) of another cluster, at old:6443"
    assert error.hint == "gpustack reset -i hosts.yml --limit k2 --foreign"
    assert run("--yes", "-q", "--limit", "k2", "--foreign").exit_code == 0
    assert fake_world.played_hosts == [["k2"]]


def test_without_its_control_plane_a_worker_holds_the_lock(world: Callable[..., World]) -> None:
    fake_world = world(build_snapshot(CLUSTER, unreached_hosts=("k1",)), build_snapshot(unreached_hosts=("k1",)))
    error = expect_error("--yes", "-q", "--limit", "k2")
    assert (error.reference, fake_world.locked_hosts, fake_world.played_hosts) == ("lock-unreached", [], []), (
        "another one may reach it"
    )
    assert error.hint.startswith("gpustack reset -i hosts.yml --without-lock k1 ")
    result = run("--yes", "-q", "--limit", "k2", "--without-lock", "k1")
    assert fake_world.locked_hosts[0] == "k2 reset"
    assert result.exit_code == 8, "its node cannot be asked about"


def test_who_cannot_be_asked_ends_it(world: Callable[..., World]) -> None:
    world(build_snapshot(CLUSTER, unreached_hosts=("k2",)))
    assert isinstance(expect_error("--yes", "-q", "--limit", "k2"), UnreachableError)


def test_another_operator_ends_it(world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    fake_world = world(build_snapshot(CLUSTER))

    def raise_locked(*_: Any, **__: Any) -> None:
        raise LockedError("locked", "ann is at it")

    monkeypatch.setattr(locked_run, "hold_locks", raise_locked)
    assert expect_error("--yes", "-q").code == 7
    assert fake_world.played_hosts == []


def test_pods_are_counted_by_who_has_them() -> None:
    names = ("monitoring/monitoring-grafana-1", "gpu-operator/gpu-operator-1", "shop/web-0", "kube-system/coredns-1")
    platform = frozenset({"kube-system", "monitoring", "gpu-operator"})
    assert describe_pods(names, platform) == "1 of yours (shop/web-0), 2 of gpustack, 1 of Kubernetes"
    assert describe_pods(names[:1], platform) == "1 of gpustack, 0 of Kubernetes"

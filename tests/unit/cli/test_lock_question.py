"""A lock on a host that is not reached needs a confirmation of its own: --yes is none."""

import sys
from io import StringIO

import pytest

from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.cli.questions import agree_on_places
from gpustack.config.host import CONTROL_PLANE, NODE, STANDALONE, Host
from gpustack.errors import RolloutError, UsageError
from tests.worlds.snapshots.build import build


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def snapshot(planes: str = "k", workers: str = "w", silent: str = "") -> Snapshot:
    hosts = [Host(name, name, groups=frozenset({CONTROL_PLANE})) for name in planes]
    hosts += [Host(name, name, groups=frozenset({NODE if planes else STANDALONE})) for name in workers]
    return build(hosts, {}, {}, [Reach(name, "host-ssh-unreachable", "connection refused") for name in silent])


def lock(hosts_snapshot: Snapshot, *options: str) -> str:
    """Return the names of the hosts that are locked, in their order."""
    places = agree_on_places(hosts_snapshot, ["reset"], (), options or None)
    return "".join(dict.fromkeys(host.name for host in (*places.first_hosts, *places.other_hosts)))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(request.param))


@pytest.mark.parametrize(("planes", "workers", "silent"), [("k", "w", ""), ("k", "wx", "x"), ("", "wx", "w")])
def test_where_all_control_planes_are_reached_nothing_is_asked(planes: str, workers: str, silent: str) -> None:
    assert lock(snapshot(planes, workers, silent)) == "".join(name for name in planes + workers if name not in silent)


@pytest.mark.parametrize("options", [(), ("w",)])
def test_without_a_terminal_it_is_refused_with_its_option(options: tuple[str, ...]) -> None:
    with pytest.raises(RolloutError, match="The lock on k cannot be taken") as excinfo:
        lock(snapshot(silent="k"), *options)
    assert (excinfo.value.reference, excinfo.value.reason) == ("lock-unreached", "k: connection refused")
    assert "gpustack reset" in excinfo.value.hint
    assert "--without-lock k" in excinfo.value.hint


def test_the_option_names_the_host() -> None:
    assert lock(snapshot(silent="k"), "k") == "w"
    assert lock(snapshot("kl", "w", "kl"), "k,l") == "w"
    assert lock(snapshot(), "k") == "kw", "one that is reached is locked all the same"


def test_each_silent_control_plane_is_confirmed() -> None:
    with pytest.raises(RolloutError, match="The lock on l "):
        lock(snapshot("kl", "w", "kl"), "k")


def test_a_host_that_the_inventory_does_not_have_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no host z"):
        lock(snapshot(silent="k"), "z")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("terminal", ["k\n", " k \n"], indirect=True)
def test_on_a_terminal_its_name_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock(snapshot(silent="k")) == "w"
    question = capsys.readouterr().err
    assert "k: connection refused\n" in question
    assert question.endswith("Type k to go on without its lock: ")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("terminal", ["y\n", "yes\n", "\n", "", "w\n"], indirect=True)
def test_a_yes_is_not_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RolloutError) as excinfo:
        lock(snapshot(silent="k"))
    assert excinfo.value.reference == "lock-unreached"
    capsys.readouterr()

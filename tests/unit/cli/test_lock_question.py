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


def snapshot(planes: str = "k", others: str = "w", away: str = "") -> Snapshot:
    made = [Host(name, name, groups=frozenset({CONTROL_PLANE})) for name in planes]
    made += [Host(name, name, groups=frozenset({NODE if planes else STANDALONE})) for name in others]
    return build(made, {}, {}, [Reach(name, "host-ssh-unreachable", "connection refused") for name in away])


def lock(taken: Snapshot, *without: str) -> str:
    """The names of the hosts that are locked, in their order."""
    places = agree_on_places(taken, ["reset"], (), without or None)
    return "".join(dict.fromkeys(host.name for host in (*places.first_hosts, *places.other_hosts)))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(request.param))


@pytest.mark.parametrize(("planes", "others", "away"), [("k", "w", ""), ("k", "wx", "x"), ("", "wx", "w")])
def test_where_all_control_planes_are_reached_nothing_is_asked(planes: str, others: str, away: str) -> None:
    assert lock(snapshot(planes, others, away)) == "".join(name for name in planes + others if name not in away)


@pytest.mark.parametrize("without", [(), ("w",)])
def test_without_a_terminal_it_is_refused_with_its_option(without: tuple[str, ...]) -> None:
    with pytest.raises(RolloutError, match="The lock on k cannot be taken") as raised:
        lock(snapshot(away="k"), *without)
    assert (raised.value.reference, raised.value.reason) == ("lock-unreached", "k: connection refused")
    assert "gpustack reset" in raised.value.hint
    assert "--without-lock k" in raised.value.hint


def test_the_option_names_the_host() -> None:
    assert lock(snapshot(away="k"), "k") == "w"
    assert lock(snapshot("kl", "w", "kl"), "k,l") == "w"
    assert lock(snapshot(), "k") == "kw", "one that is reached is locked all the same"


def test_each_silent_control_plane_is_confirmed() -> None:
    with pytest.raises(RolloutError, match="The lock on l "):
        lock(snapshot("kl", "w", "kl"), "k")


def test_a_host_that_the_inventory_does_not_have_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no host z"):
        lock(snapshot(away="k"), "z")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("terminal", ["k\n", " k \n"], indirect=True)
def test_on_a_terminal_its_name_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock(snapshot(away="k")) == "w"
    asked = capsys.readouterr().err
    assert "k: connection refused\n" in asked
    assert asked.endswith("Type k to go on without its lock: ")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("terminal", ["y\n", "yes\n", "\n", "", "w\n"], indirect=True)
def test_a_yes_is_not_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RolloutError) as raised:
        lock(snapshot(away="k"))
    assert raised.value.reference == "lock-unreached"
    capsys.readouterr()

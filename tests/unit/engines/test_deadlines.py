"""A temporary change keeps the values before it on the node, and they come back, whatever happens in between."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gpustack.engines import operations
from gpustack.engines.change import Change, ChangeResult, Operation, Preview
from gpustack.engines.revert import Revert
from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.probes.gpu.temporary_changes import Mark, parse_mark
from tests.worlds.programs.engines import render_policy
from tests.worlds.programs.live_engines import Gpu, LiveHosts
from tests.worlds.snapshots.build import TAKEN_AT

LATER = timedelta(hours=3)
LIMIT = operations.set_config(250, "", ecc=None, keep=7200)
CLOCKS = operations.set_config(250, "2000,1500", ecc=None, keep=7200)
POLICY = operations.set_policy({"ecc": True, "temperature": 85}, 7200)
SET_1 = "nvidia-dcgm-gpu1 --container nvidia-dcgm-ctr -- dcgmi config --set"


def change(hosts: LiveHosts, later: timedelta = timedelta(), events: list[Event] | None = None) -> Change:
    report = (lambda _: None) if events is None else events.append
    engines = hosts.build_engines(later)
    return Change(engines, "ann@desk", lambda _: None, lambda _: True, report, execute=hosts.execute)


def make(hosts: LiveHosts, work: Operation, later: timedelta = timedelta()) -> ChangeResult:
    return change(hosts, later).apply_operation(work)[0]


def mark_of(hosts: LiveHosts, node: str, kind: str) -> Mark:
    mark = parse_mark(node, kind, hosts.annotations[node, kind], TAKEN_AT)
    assert mark
    return mark


def power_limits(hosts: LiveHosts, node: str) -> list[str]:
    return [gpu.values["Power_Limit"] for gpu in hosts.gpus[node]]


def test_the_former_value_stands_on_the_node_and_comes_back() -> None:
    hosts = LiveHosts(gpus={"gpu1": [Gpu(), Gpu()], "gpu2": [Gpu({**Gpu().values, "Power_Limit": "700"})]})
    previews = list[Preview]()
    result, _ = replace(change(hosts), show=previews.append).apply_operation(LIMIT)
    assert hosts.read_values("Power_Limit") == {"250"}
    assert [(mark.node, mark.former, mark.values) for mark in result.marks] == [
        ("gpu1", "300", ("250",)), ("gpu2", "700", ("250",)),
    ]  # fmt: skip
    assert previews[0].marks == result.marks
    assert mark_of(hosts, "gpu2", "power-limit") == result.marks[1]
    assert change(hosts, timedelta(hours=1)).revert_overdue() == ()
    reverts = change(hosts, LATER).revert_overdue()
    assert reverts == (Revert("gpu1", "power-limit", "done"), Revert("gpu2", "power-limit", "done"))
    assert (power_limits(hosts, "gpu1"), power_limits(hosts, "gpu2")) == (["300", "300"], ["700"])
    assert hosts.annotations == {}


@pytest.mark.parametrize("former", [render_policy(0), render_policy(0, "XID error detected.", action="Reset GPU")])
def test_a_policy_comes_back(former: str) -> None:
    hosts = LiveHosts(gpus={"gpu1": [Gpu(policy=former)], "gpu2": [Gpu(policy=former)]})
    make(hosts, POLICY)
    assert {gpu.policy for gpus in hosts.gpus.values() for gpu in gpus} == {
        render_policy(0, "Double-bit ECC errors", "Max temperature threshold - 85")
    }
    assert [revert.ending for revert in change(hosts, LATER).revert_overdue()] == ["done", "done"]
    assert {gpu.policy for gpus in hosts.gpus.values() for gpu in gpus} == {former}
    assert hosts.annotations == {}


class KilledError(Exception):
    """Stand for kill -9: nothing that follows in this process happens."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("work", [LIMIT, CLOCKS, POLICY])
def test_killed_at_any_command_nothing_is_changed_without_a_mark(work: Operation, moment: str) -> None:
    whole_hosts = LiveHosts()
    former = whole_hosts.gpus
    make(whole_hosts, work)
    for last in range(len(whole_hosts.typed_commands)):
        hosts, typed_commands = LiveHosts(), list[str]()

        def kill(command: str, commands: list[str] = typed_commands, last: int = last) -> None:
            commands.append(command)
            if len(commands) > last:
                raise KilledError

        setattr(hosts, moment, kill)
        with pytest.raises(KilledError):
            make(hosts, work)
        setattr(hosts, moment, lambda _: None)
        for node, gpus in hosts.gpus.items():
            assert gpus == [Gpu(), Gpu()] or {(node, kind) for kind in work.kinds} <= {*hosts.annotations}, (
                typed_commands[-1]
            )
        reverts = change(hosts, LATER).revert_overdue()
        assert {revert.ending for revert in reverts} <= {"done"}
        assert hosts.gpus == {"gpu1": [Gpu(), Gpu()], "gpu2": [Gpu(), Gpu()]}
        assert hosts.annotations == {}
    assert former is whole_hosts.gpus


def test_what_somebody_else_has_set_since_is_left_alone() -> None:
    hosts, events = LiveHosts(), list[Event]()
    make(hosts, LIMIT)
    for gpu in hosts.gpus["gpu1"]:
        gpu.values["Power_Limit"] = "400"
    remaining_marks, reverts = change(hosts, LATER, events).revert_overdue()
    assert (remaining_marks.ending, reverts.ending) == ("left", "done")
    assert remaining_marks.reason.startswith("GPU 0: power limit 400 W; GPU 1: power limit 400 W; somebody else")
    assert power_limits(hosts, "gpu1") == ["400", "400"]
    assert hosts.annotations == {}
    assert [event.subject for event in events if event.kind == "note"] == ["gpu1"]


def test_gpus_of_a_node_that_somebody_else_has_set_in_part_keep_the_mark() -> None:
    hosts = LiveHosts()
    make(hosts, LIMIT)
    hosts.gpus["gpu1"][1].values["Power_Limit"] = "400"
    reverts = change(hosts, LATER).revert_overdue()
    assert reverts[0].ending == "refused"
    assert power_limits(hosts, "gpu1") == ["250", "400"]
    assert [*hosts.annotations] == [("gpu1", "power-limit")]


@pytest.mark.parametrize(
    ("answers", "stuck", "ending"),
    [
        ({SET_1: (227, "Error: Unable to set some of the configuration properties.\n")}, set(), "refused"),
        ({SET_1: (137, "")}, set(), "unknown"),
        ({}, {("gpu1", 1)}, "refused"),
        ({"nvidia-dcgm-gpu1 --container nvidia-dcgm-ctr -- dcgmi config --get": (235, "")}, set(), "unknown"),
    ],
)
def test_what_was_not_put_back_is_reported_and_stays_marked(
    answers: dict[str, tuple[int, str]], stuck: set[tuple[str, int]], ending: str
) -> None:
    hosts, events = LiveHosts(), list[Event]()
    make(hosts, LIMIT)
    hosts.answers, hosts.stuck = answers, stuck
    reverts = change(hosts, LATER, events).revert_overdue()
    assert [revert.ending for revert in reverts] == [ending, "done"]
    assert [*hosts.annotations] == [("gpu1", "power-limit")]
    assert any(event.kind == "failed" and event.subject == "gpu1" and "overdue" in event.message for event in events)
    hosts.answers, hosts.stuck = {}, set()
    assert [revert.ending for revert in change(hosts, LATER).revert_overdue()] == ["done"]
    assert hosts.read_values("Power_Limit") == {"300"}


def test_a_longer_time_keeps_what_was_before_the_first_change() -> None:
    hosts = LiveHosts()
    make(hosts, LIMIT)
    make(hosts, operations.set_config(200, "", ecc=None, keep=14400), timedelta(hours=1))
    mark = mark_of(hosts, "gpu1", "power-limit")
    assert (mark.former, mark.values) == ("300", ("250", "200"))
    assert change(hosts, LATER).revert_overdue() == ()
    assert {revert.ending for revert in change(hosts, timedelta(hours=6)).revert_overdue()} == {"done"}
    assert hosts.read_values("Power_Limit") == {"300"}


def test_a_longer_time_that_is_refused_still_puts_the_first_change_back() -> None:
    hosts = LiveHosts()
    make(hosts, LIMIT)
    hosts.answers = {SET_1: (227, "Error: \n")}
    make(hosts, operations.set_config(200, "", ecc=None, keep=14400), timedelta(hours=1))
    assert power_limits(hosts, "gpu1") == ["250", "250"]
    hosts.answers = {}
    assert {revert.ending for revert in change(hosts, timedelta(hours=6)).revert_overdue()} == {"done"}
    assert hosts.read_values("Power_Limit") == {"300"}


def test_set_to_stay_is_no_longer_temporary() -> None:
    hosts = LiveHosts()
    make(hosts, CLOCKS)
    make(hosts, operations.set_config(250, "", ecc=None), timedelta(hours=1))
    assert {kind for _, kind in hosts.annotations} == {"clocks"}
    make(hosts, POLICY)
    make(hosts, operations.clear_policy())
    assert {kind for _, kind in hosts.annotations} == {"clocks"}
    change(hosts, LATER).revert_overdue()
    assert hosts.read_values("Power_Limit") == {"250"}
    assert hosts.read_values("SM_Application_Clock") == {"1980"}


@pytest.mark.parametrize("count", [0, 1])
def test_a_refusal_keeps_the_mark_where_a_gpu_was_changed(count: int) -> None:
    """DCGM sets the GPUs of a node one after the other, and goes on behind one that refuses."""
    hosts = LiveHosts(answers={SET_1: (227, "Error: Unable to set some of the configuration properties.\n")})

    def set_in_part(command: str) -> None:
        for gpu in hosts.gpus["gpu1"][:count] if SET_1 in command else ():
            gpu.values["Power_Limit"] = "250"

    hosts.before = set_in_part
    result = make(hosts, LIMIT)
    assert result.endings[0].ending == "refused"
    assert (("gpu1", "power-limit") in hosts.annotations) == bool(count)
    assert [mark.node for mark in result.marks] == ["gpu1", "gpu2"][1 - count :]


@pytest.mark.parametrize("value", ["Not Supported", "400"])
def test_without_one_former_value_nothing_is_done(value: str) -> None:
    hosts = LiveHosts()
    hosts.gpus["gpu2"][1].values["Power_Limit"] = value
    with pytest.raises(RolloutError) as excinfo:
        make(hosts, LIMIT)
    assert excinfo.value.reference == "change-no-former"
    assert f"gpu2: power limit: GPU 0: 300; GPU 1: {value}" in excinfo.value.reason
    assert all("config --get" in line for line in hosts.typed_commands)
    make(hosts, replace(LIMIT, keep=0.0))
    assert hosts.read_values("Power_Limit") == {"250"}


def test_an_engine_that_does_not_answer_has_no_former_value() -> None:
    hosts = LiveHosts(answers={"policy --get": (235, "Error: Unable to connect to host engine.\n")})
    with pytest.raises(RolloutError) as excinfo:
        make(hosts, POLICY)
    assert "gpu1: policy: DCGM returned -21: Error: Unable to connect" in excinfo.value.reason


def test_a_mark_that_another_one_wrote_meanwhile_is_not_overwritten() -> None:
    hosts = LiveHosts()
    acting = change(hosts)
    other_mark = hosts.annotations["gpu2", "power-limit"] = Mark(
        "gpu2", "power-limit", TAKEN_AT, "bob", "300", ("200",)
    ).text
    with pytest.raises(RolloutError) as excinfo:
        acting.apply_operation(LIMIT)
    assert excinfo.value.reference == "change-not-marked"
    assert hosts.annotations["gpu2", "power-limit"] == other_mark
    assert hosts.read_values("Power_Limit") == {"300"}


def test_interrupted_before_the_change_no_mark_stays() -> None:
    hosts, stop = LiveHosts(), list[str]()
    hosts.after = lambda command: stop.append("interrupted") if " annotate " in command else None
    result, _ = replace(change(hosts), cancel_reason=lambda: "".join(stop[:1])).apply_operation(LIMIT)
    assert result.stop_reason == "interrupted"
    assert hosts.read_values("Power_Limit") == {"300"}
    assert hosts.annotations == {}

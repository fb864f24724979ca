"""The one place that acts: what is asked, marked, done, put back and written down, and in which order."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

import pytest

from gpustack.engines import operations
from gpustack.engines.call import Reply
from gpustack.engines.change import Change, ChangeResult, Operation, Preview
from gpustack.engines.endings import NodeEnding
from gpustack.engines.listings import Group, Listing
from gpustack.engines.revert import Revert
from gpustack.errors import RolloutError, UsageError
from gpustack.events import Event
from gpustack.probes.gpu.temporary_changes import LOAD, Mark, parse_mark
from tests.worlds.programs import engines
from tests.worlds.programs.engines import ENGINES, KUBECTL, Hosts
from tests.worlds.snapshots.build import TAKEN_AT

HOLDER = "ann@desk (pid 7)"
PAUSE = operations.pause_profiling(1800)


def change(hosts: Hosts, events: list[Event] | None = None, *, yes: bool = True, **marks: str) -> Change:
    report = (lambda _: None) if events is None else events.append
    engines = replace(ENGINES, marks={(node, "profiling"): text for node, text in marks.items()})
    return Change(engines, HOLDER, lambda _: None, lambda _: yes, report, execute=hosts.execute)


def mark(node: str = "gpu1", after: timedelta = timedelta(minutes=5)) -> str:
    return Mark(node, "profiling", TAKEN_AT + after, "bob").text


def test_what_is_declined_is_not_done() -> None:
    hosts, previews = Hosts(), list[Preview]()
    declined_change = replace(change(hosts, yes=False), show=previews.append)
    with pytest.raises(RolloutError) as excinfo:
        declined_change.apply_operation(PAUSE)
    assert excinfo.value.reference == "change-declined"
    assert [preview.deadline for preview in previews] == [TAKEN_AT + timedelta(minutes=30)]
    assert hosts.typed_commands == []


def test_the_mark_stands_before_the_change() -> None:
    hosts = Hosts()
    result, _ = change(hosts).apply_operation(PAUSE)
    first, *other_actions = hosts.list_actions()
    assert first.startswith(f"{KUBECTL} annotate node gpu1 gpu2 ")
    text = first.partition("gpustack.io/temporary-profiling=")[2].rstrip("'")
    deadline = TAKEN_AT + timedelta(minutes=30)
    assert parse_mark("gpu1", "profiling", text, TAKEN_AT) == Mark("gpu1", "profiling", deadline, HOLDER)
    assert [mark.node for mark in result.marks] == ["gpu1", "gpu2"]
    assert sorted(other_actions) == [engine.build_command(("profile", "--pause")) for engine in ENGINES.members]
    assert [ending.ending for ending in result.endings] == ["done", "done", "unknown"]


def test_without_a_mark_nothing_is_done() -> None:
    hosts = Hosts({"annotate": (1, "error: forbidden\n")})
    with pytest.raises(RolloutError) as excinfo:
        change(hosts).apply_operation(PAUSE)
    assert excinfo.value.reference == "change-not-marked"
    assert len(hosts.typed_commands) == 1


def test_a_mark_of_what_was_refused_is_taken_away() -> None:
    hosts = Hosts({"nvidia-dcgm-gpu2": (220, "Error: unable to pause profiling metrics: not supported.\n")})
    result, _ = change(hosts).apply_operation(PAUSE)
    assert result.endings[1].ending == "refused"
    assert "DCGM returned -36: Error: unable to pause" in result.endings[1].reason
    assert hosts.list_actions()[-1] == f"{KUBECTL} annotate node gpu2 gpustack.io/temporary-profiling-"


def test_what_may_have_been_done_keeps_its_mark() -> None:
    hosts = Hosts({"nvidia-dcgm-gpu2": (137, "")})
    result, _ = change(hosts).apply_operation(PAUSE)
    assert result.endings[1].ending == "unknown"
    assert not any(line.endswith("temporary-profiling-") for line in hosts.typed_commands)


def test_an_overdue_change_is_put_back_first() -> None:
    hosts = Hosts()
    result, _ = change(hosts, gpu1=mark(after=-timedelta(minutes=1)), gpu2=mark()).apply_operation(
        operations.clear_policy()
    )
    assert result.reverts == (Revert("gpu1", "profiling", "done"),)
    resume_line, unmark_line, *clear_lines = hosts.list_actions()
    assert "nvidia-dcgm-gpu1" in resume_line
    assert "dcgmi profile --resume" in resume_line
    assert unmark_line == f"{KUBECTL} annotate node gpu1 gpustack.io/temporary-profiling-"
    assert len(clear_lines) == 2


def test_to_resume_ends_the_mark_before_its_deadline() -> None:
    hosts = Hosts()
    change(hosts, gpu2=mark()).apply_operation(operations.resume_profiling())
    assert hosts.list_actions()[-1] == f"{KUBECTL} annotate node gpu2 gpustack.io/temporary-profiling-"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"until": "2020-01-01T00:00:00+00:00", "who": "", "former": "rm -rf /", "values": [""]}',
        mark(after=-timedelta(days=1)).replace("+00:00", ""),
    ],
)
def test_a_mark_of_another_hand_makes_nothing_run(text: str) -> None:
    hosts = Hosts()
    assert change(hosts, gpu1=text).revert_overdue() == ()
    assert hosts.typed_commands == []


def test_each_node_has_its_line_of_audit() -> None:
    hosts, events = Hosts({"nvidia-dcgm-gpu2": (227, "")}), list[Event]()
    change(hosts, events).apply_operation(operations.clear_policy())
    lines = hosts.typed_commands[-1].splitlines()
    assert [line.startswith("logger -t gpustack -- ") for line in lines] == [True, True]
    assert HOLDER in lines[0]
    assert "dcgmi policy --clear" in lines[0]
    assert lines[1].endswith("DCGM returned -29'")
    assert [(event.kind, event.subject) for event in events[1:]] == [("changed", "gpu1"), ("failed", "gpu2")]


@pytest.mark.parametrize(
    ("settings", "ending"),
    [
        (engines.render_setting(0, Power_Limit="350"), "done"),
        (
            engines.render_setting(0, Power_Limit="350") + engines.render_setting(1, Power_Limit="Not Supported"),
            "refused",
        ),
        ("", "unknown"),
    ],
)
def test_a_setting_is_looked_at_afterwards(settings: str, ending: str) -> None:
    hosts = Hosts({"config --get": (0, settings)})
    result, _ = change(hosts).apply_operation(operations.set_config(350, "", ecc=None))
    assert {node_ending.ending for node_ending in result.endings[:2]} == {ending}


@pytest.mark.parametrize(("current", "ending"), [("Enabled", "done"), ("Not Supported", "refused")])
def test_ecc_is_pending_or_not_there(current: str, ending: str) -> None:
    hosts = Hosts({"config --get": (0, engines.render_setting(0, ECC_Mode=current))})
    result, _ = change(hosts).apply_operation(operations.set_config(None, "", ecc=False))
    assert result.endings[0].ending == ending
    assert "--eccmode 0" in hosts.typed_commands[0]


def test_a_diagnostic_is_stopped_once() -> None:
    questions = list[str]()
    hosts = Hosts()
    acting = replace(change(hosts), cancel_reason=lambda: "interrupted")
    stop = acting.build_stopper(operations.diagnose(1))
    stop()
    stop()
    questions = [line for line in hosts.typed_commands if "DCGMI_STOP_DIAG_HOSTNAME=localhost dcgmi diag" in line]
    assert len(questions) == 2
    acting.build_stopper(operations.clear_policy())()
    assert len(hosts.typed_commands) == 2


def test_a_group_is_deleted_by_its_number_on_each_node() -> None:
    listing = Listing("groups", (Group("gpu1", 2, "training", ()), Group("gpu2", 5, "training", ())))
    work = operations.delete_group("training", listing)
    assert [work.build_command(engine).split(" dcgmi ")[1] for engine in ENGINES.members] == [
        "group --delete 2 --host localhost",
        "group --delete 5 --host localhost",
    ]
    hosts = Hosts()
    change(hosts).apply_operation(operations.delete_group("training", Listing("groups", listing.rows[:1])))
    assert len(hosts.list_actions()) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: operations.create_group("a;reboot", ()),
        lambda: operations.create_group("a", ("0", "x")),
        lambda: operations.delete_group(
            "DCGM_ALL_SUPPORTED_GPUS", Listing("groups", (Group("n", 0, "DCGM_ALL_SUPPORTED_GPUS", ()),))
        ),
        lambda: operations.delete_group("none", Listing("groups", ())),
        lambda: operations.set_policy({"ecc": False, "temperature": None}),
        lambda: operations.set_config(None, "", ecc=None),
        lambda: operations.start_job("x" * 65, 1, 1),
    ],
)
def test_what_makes_no_sense_is_refused(make: "Callable[[], Operation]") -> None:
    with pytest.raises(UsageError):
        make()


def test_operations_become_words_of_dcgmi() -> None:
    """DCGM 4.6.0, dcgmi/CommandLineParser.cpp."""
    start = operations.start_job("train-7", 10, 3600)
    assert start.lines == (
        ("stats", "--enable", "--update-interval", "10000", "--max-keep-age", "3600"),
        ("stats", "--jstart", "train-7"),
    )
    policy = operations.set_policy({"ecc": True, "pcie": False, "temperature": 85, "power": None})
    assert policy.lines == (("policy", "--set", "0,0", "--eccerrors", "--maxtemp", "85"),)
    assert operations.create_group("a", ("0", "1")).lines == (("group", "--create", "a", "--add", "0,1"),)
    assert operations.clear_policy().lines == (("policy", "--clear"),)
    assert operations.diagnose(1).lines == (("diag", "--run", "1", "--json", "--timeout", "120"),)


def test_what_cannot_be_kept_free_is_left_out() -> None:
    hosts = Hosts()
    held_change = replace(change(hosts), context=lambda: nullcontext({"gpu2": "taken"}))
    result, replies = held_change.apply_operation(operations.diagnose(2))
    assert [reply.node for reply in replies] == ["gpu1"]
    assert NodeEnding("gpu2", "refused", "taken") in result.endings
    assert "--timeout 900" in hosts.typed_commands[0]


def load(hosts: Hosts, *replies: Reply) -> ChangeResult:
    acting = replace(change(hosts), act=lambda engines: [*replies])
    return acting.apply_operation(
        operations.load_gpus("SM_ACTIVE for 60 s", "dcgm:1: dcgmproftester", 360, blind=False)
    )[0]


def test_a_load_is_marked_while_it_lasts() -> None:
    hosts = Hosts()
    result = load(hosts, *(Reply(node, "dcgmproftester -t 1002") for node in ("gpu1", "gpu2")))
    mark_line, unmark_line = hosts.list_actions()
    assert mark_line.startswith(f"{KUBECTL} annotate node gpu1 gpu2 'gpustack.io/temporary-load=")
    assert unmark_line == f"{KUBECTL} annotate node gpu1 gpu2 gpustack.io/temporary-load-"
    assert [ending.ending for ending in result.endings] == ["done", "done", "unknown"]
    assert any(f"{HOLDER}: gpu1: dcgmproftester -t 1002: done" in line for line in hosts.typed_commands)


def test_a_load_whose_pods_are_still_there_keeps_its_mark() -> None:
    hosts = Hosts()
    load(hosts, Reply("gpu1", "", 1, stderr="quota"), Reply("gpu2", "", missing_reason="the API is down"))
    assert hosts.list_actions()[-1] == f"{KUBECTL} annotate node gpu1 gpustack.io/temporary-load-"


def test_what_a_killed_load_left_is_removed_by_the_next_change() -> None:
    """The control plane removes it, on a node without an engine, too."""
    hosts = Hosts()
    times = {"gpu1": -1, "gpu4": -1, "gpu2": 5}
    marks = {
        (node, LOAD): Mark(node, LOAD, TAKEN_AT + timedelta(minutes=minutes), "bob").text
        for node, minutes in times.items()
    }
    acting = replace(change(hosts), engines=replace(ENGINES, marks=marks))
    result, _ = acting.apply_operation(operations.clear_policy())
    assert [(revert.node, revert.ending) for revert in result.reverts] == [("gpu1", "done"), ("gpu4", "done")]
    assert sorted(hosts.list_actions()[:2]) == [
        f"{KUBECTL} --namespace gpustack-proof delete pods --selector gpustack.io/proof "
        f"--field-selector 'spec.nodeName={node},status.phase!=Pending,status.phase!=Running' --timeout=20s"
        for node in ("gpu1", "gpu4")
    ]
    assert hosts.list_actions()[2] == f"{KUBECTL} annotate node gpu1 gpu4 gpustack.io/temporary-load-"

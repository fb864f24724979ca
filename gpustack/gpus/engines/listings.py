"""What host engines say of their groups, policies, configuration and profiling metrics.

Words of dcgmi and its texts are those of DCGM 4.6.0: dcgmi/CommandLineParser.cpp, and the file below each parser. Never
seen live.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gpustack.ask.probe import UNREADABLE
from gpustack.ask.transport.execute import run
from gpustack.gpus.engines.boxes import NO_GROUPS, OTHER_SHAPE, all_of, child, header, read_documents, text_of
from gpustack.gpus.engines.call import LIMIT, Reply, Run, call, call_each
from gpustack.gpus.engines.engine import Engines
from gpustack.gpus.engines.job import Figure, parse_figures
from gpustack.gpus.engines.samples import Sample, parse_samples, words_for
from gpustack.gpus.engines.violations import Violation, listen_command, parse_violations
from gpustack.metrics.fields import Field
from gpustack.probes.gpu import temporary
from gpustack.probes.gpu.temporary import Mark

About = Literal["groups", "policies", "settings", "metrics", "figures", "samples", "violations"]
Parse = Callable[[Reply], Iterator[Any]]
# Names of settings (dcgmi/Config.cpp).
POWER_LIMIT, ECC_MODE = "Power Limit", "ECC Mode"
MEMORY_CLOCK, SM_CLOCK = "Memory Application Clock", "SM Application Clock"
GPU_ID = "GPU ID: "
SHOWN: Mapping[str, About] = {
    temporary.PROFILING: "metrics",
    temporary.POLICY: "policies",
    temporary.POWER_LIMIT: "settings",
    temporary.CLOCKS: "settings",
}
"""The listing of a kind that can be changed for a time."""
ALL_GPUS = "DCGM_ALL_SUPPORTED_GPUS"


@dataclass(frozen=True)
class Group:
    """`entities` as dcgmi names them: `GPU 0`, `Switch 1`."""

    node: str
    id: int
    name: str
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """Of a GPU. `conditions` are empty where there are none; a limit stands behind its condition (°C, W, pages)."""

    node: str
    gpu: str
    conditions: tuple[str, ...]
    action: str
    validation: str


@dataclass(frozen=True)
class Setting:
    """Of a GPU: what was set through this engine, and what is in force. Power in W, clocks in MHz."""

    node: str
    gpu: str
    model: str
    setting: str
    target: str
    current: str


@dataclass(frozen=True)
class MetricGroup:
    """A profiling field. Fields of one letter and different numbers are measured in turn."""

    node: str
    group: str
    field_id: int
    field: str


Row = Group | Policy | Setting | MetricGroup | Figure | Sample | Violation


@dataclass(frozen=True)
class Listing:
    """`unread` is why nothing is known of a node, by its name. `temporary` is what of it is changed for a time."""

    about: About
    rows: tuple[Row, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    temporary: tuple[Mark, ...] = ()


def parse_groups(reply: Reply) -> Iterator[Group]:
    """Group.cpp, RunGroupList and RunGroupInfo."""
    if NO_GROUPS in reply.out:
        return
    (document,) = read_documents(reply.out)
    for box in document["body"]["Groups"]["children"].values():
        members = child(box, "Entities")
        entities = () if members == "None" else tuple(one.strip() for one in members.split(","))
        yield Group(reply.node, int(child(box, "Group ID")), child(box, "Group Name"), entities)


def parse_policies(reply: Reply) -> Iterator[Policy]:
    """Policy.cpp, DisplayCurrentViolationPolicy; the header's second line names the GPU."""
    for document in read_documents(reply.out):
        body = document["body"]
        conditions = all_of(body["Violation conditions"])
        yield Policy(
            reply.node,
            gpu_of(header(document, 1)),
            () if conditions == ("None",) else conditions,
            text_of(body["Action on violation"]),
            text_of(body["Validation after action"]),
        )


def parse_settings(reply: Reply) -> Iterator[Setting]:
    """Config.cpp, RunGetConfig. Its Sync Boost is left out: it prints that of the first GPU for all of them."""
    for document in read_documents(reply.out):
        gpu, model = gpu_of(header(document, 0)), header(document, 1)
        for name, box in document["body"].items():
            if name != "Sync Boost":
                yield Setting(reply.node, gpu, model, name, child(box, "Target"), child(box, "Current"))


def parse_metrics(reply: Reply) -> Iterator[MetricGroup]:
    """DcgmiProfile.cpp, RunProfileList: of the first GPU of a node, with keys `group_field`."""
    if reply.out.strip() == "null":  # no group at all: the JSON was never begun
        return
    (document,) = read_documents(reply.out)
    body = document["body"]
    for key in sorted(body, key=lambda name: tuple(map(int, name.split("_")))):
        box = body[key]
        yield MetricGroup(
            reply.node, child(box, "Group.Subgroup"), int(child(box, "Field ID")), child(box, "Field Tag")
        )


def gpu_of(text: str) -> str:
    """`GPU ID: 3`. Raises ValueError for another."""
    if not text.startswith(GPU_ID):
        raise ValueError(text)
    return text.removeprefix(GPU_ID)


LISTS: Mapping[About, tuple[Sequence[str], Parse]] = {
    "groups": (("group", "--list", "--json"), parse_groups),
    "policies": (("policy", "--get", "--verbose", "--json"), parse_policies),
    "settings": (("config", "--get", "--verbose", "--json"), parse_settings),
    "metrics": (("profile", "--list", "--json"), parse_metrics),
}


def list_all(engines: Engines, about: About, execute: Run = run) -> Listing:
    words, parse = LISTS[about]
    return ask(engines, about, words, parse, execute)


def list_figures(engines: Engines, job: str, execute: Run = run) -> Listing:
    """Of a job."""
    return ask(engines, "figures", ("stats", "--job", job, "--verbose"), parse_figures, execute)


def list_samples(engines: Engines, fields: Sequence[Field], milliseconds: int, execute: Run = run) -> Listing:
    """Measured that often."""
    words = words_for(fields, milliseconds)
    return ask(engines, "samples", words, lambda reply: parse_samples(reply, fields), execute)


def list_violations(engines: Engines, seconds: int, execute: Run = run) -> Listing:
    """Those that come within this time."""
    commands = {engine: listen_command(engine, seconds) for engine in engines.found}
    return read("violations", call_each(commands, seconds + LIMIT, execute), engines, parse_violations)


def ask(engines: Engines, about: About, words: Sequence[str], parse: Parse, execute: Run) -> Listing:
    return read(about, call(engines.found, words, execute=execute), engines, parse)


def read(about: About, replies: Sequence[Reply], engines: Engines, parse: Parse) -> Listing:
    """An answer of another shape is unknown."""
    rows, unread = list[Row](), dict(engines.unread)
    for reply in replies:
        if reply.fault:
            unread[reply.node] = reply.fault
            continue
        try:
            rows += list(parse(reply))
        except UNREADABLE as error:
            unread[reply.node] = f"{OTHER_SHAPE}: {type(error).__name__}"
    asked = {engine.node for engine in engines.found} | {*engines.unread}
    marks = [mark for mark in engines.standing.values() if mark.node in asked and SHOWN.get(mark.what) == about]
    return Listing(about, tuple(rows), unread, tuple(marks))

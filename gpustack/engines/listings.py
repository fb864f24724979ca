"""Groups, policies, configuration and profiling metrics of host engines.

Words of dcgmi and its texts are those of DCGM 4.6.0: dcgmi/CommandLineParser.cpp, and the file below each parser. They
were never seen live.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gpustack.ask.probe import UNREADABLE
from gpustack.ask.transport.execute import run_script
from gpustack.engines.call import LIMIT, Reply, Run, call_each, call_engines
from gpustack.engines.dcgmi_json import (
    NO_GROUPS,
    OTHER_SHAPE,
    extract_child,
    extract_header,
    extract_text,
    list_texts,
    parse_documents,
)
from gpustack.engines.engine import Engines
from gpustack.engines.job import Figure, parse_figures
from gpustack.engines.samples import Sample, build_options, parse_samples
from gpustack.engines.violations import Violation, build_listen_command, parse_violations
from gpustack.exit_status import ExitStatus, select_status
from gpustack.probes.gpu import temporary_changes
from gpustack.probes.gpu.temporary_changes import Mark
from gpustack.vocabulary.fields import Field

Topic = Literal["groups", "policies", "settings", "metrics", "figures", "samples", "violations"]
Parse = Callable[[Reply], Iterator[Any]]
# Names of settings (dcgmi/Config.cpp).
POWER_LIMIT, ECC_MODE = "Power Limit", "ECC Mode"
MEMORY_CLOCK, SM_CLOCK = "Memory Application Clock", "SM Application Clock"
GPU_ID = "GPU ID: "
TOPIC_BY_KIND: Mapping[str, Topic] = {
    temporary_changes.PROFILING: "metrics",
    temporary_changes.POLICY: "policies",
    temporary_changes.POWER_LIMIT: "settings",
    temporary_changes.CLOCKS: "settings",
}
"""The topic that lists the values of each kind of temporary change."""
ALL_GPUS = "DCGM_ALL_SUPPORTED_GPUS"


@dataclass(frozen=True)
class Group:
    """Describe a group of GPUs; `entities` have dcgmi's names: `GPU 0`, `Switch 1`."""

    node: str
    id: int
    name: str
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """Describe the policy of a GPU. `conditions` may be empty; a limit stands behind its condition (°C, W, pages)."""

    node: str
    gpu: str
    conditions: tuple[str, ...]
    action: str
    validation: str


@dataclass(frozen=True)
class Setting:
    """Describe a setting of a GPU: the target that was set through this engine, and the value in force. Power is in W,
    clocks are in MHz."""

    node: str
    gpu: str
    model: str
    setting: str
    target: str
    current: str


@dataclass(frozen=True)
class MetricGroup:
    """Describe a profiling field. Fields with one letter and different numbers are measured in turn."""

    node: str
    group: str
    field_id: int
    field: str


Row = Group | Policy | Setting | MetricGroup | Figure | Sample | Violation


@dataclass(frozen=True)
class Listing:
    """Hold the rows of a topic. `unread` says by node why nothing is known of it. `temporary` are the marks of
    temporary changes of the topic."""

    topic: Topic
    rows: tuple[Row, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    temporary: tuple[Mark, ...] = ()

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(unknown=self.unread)


def parse_groups(reply: Reply) -> Iterator[Group]:
    """Parse groups (Group.cpp, RunGroupList and RunGroupInfo)."""
    if NO_GROUPS in reply.stdout:
        return
    (document,) = parse_documents(reply.stdout)
    for box in document["body"]["Groups"]["children"].values():
        members = extract_child(box, "Entities")
        entities = () if members == "None" else tuple(member.strip() for member in members.split(","))
        yield Group(reply.node, int(extract_child(box, "Group ID")), extract_child(box, "Group Name"), entities)


def parse_policies(reply: Reply) -> Iterator[Policy]:
    """Parse policies (Policy.cpp, DisplayCurrentViolationPolicy); the header's second line names the GPU."""
    for document in parse_documents(reply.stdout):
        body = document["body"]
        conditions = list_texts(body["Violation conditions"])
        yield Policy(
            reply.node,
            parse_gpu_id(extract_header(document, 1)),
            () if conditions == ("None",) else conditions,
            extract_text(body["Action on violation"]),
            extract_text(body["Validation after action"]),
        )


def parse_settings(reply: Reply) -> Iterator[Setting]:
    """Parse settings (Config.cpp, RunGetConfig). Its Sync Boost is left out: it prints that of the first GPU for all of
    them."""
    for document in parse_documents(reply.stdout):
        gpu, model = parse_gpu_id(extract_header(document, 0)), extract_header(document, 1)
        for name, box in document["body"].items():
            if name != "Sync Boost":
                yield Setting(reply.node, gpu, model, name, extract_child(box, "Target"), extract_child(box, "Current"))


def parse_metrics(reply: Reply) -> Iterator[MetricGroup]:
    """Parse the profiling fields of the first GPU of a node, with keys `group_field` (DcgmiProfile.cpp,
    RunProfileList)."""
    if reply.stdout.strip() == "null":  # no group at all: the JSON was never begun
        return
    (document,) = parse_documents(reply.stdout)
    body = document["body"]
    for key in sorted(body, key=lambda name: tuple(map(int, name.split("_")))):
        box = body[key]
        yield MetricGroup(
            reply.node,
            extract_child(box, "Group.Subgroup"),
            int(extract_child(box, "Field ID")),
            extract_child(box, "Field Tag"),
        )


def parse_gpu_id(text: str) -> str:
    """Parse the number of `GPU ID: 3`. Raise ValueError for another text."""
    if not text.startswith(GPU_ID):
        raise ValueError(text)
    return text.removeprefix(GPU_ID)


LISTS: Mapping[Topic, tuple[Sequence[str], Parse]] = {
    "groups": (("group", "--list", "--json"), parse_groups),
    "policies": (("policy", "--get", "--verbose", "--json"), parse_policies),
    "settings": (("config", "--get", "--verbose", "--json"), parse_settings),
    "metrics": (("profile", "--list", "--json"), parse_metrics),
}


def list_topic(engines: Engines, topic: Topic, execute: Run = run_script) -> Listing:
    words, parse = LISTS[topic]
    return query_listing(engines, topic, words, parse, execute)


def list_figures(engines: Engines, job: str, execute: Run = run_script) -> Listing:
    """List the statistics of a job."""
    return query_listing(engines, "figures", ("stats", "--job", job, "--verbose"), parse_figures, execute)


def list_samples(engines: Engines, fields: Sequence[Field], milliseconds: int, execute: Run = run_script) -> Listing:
    """List values of fields, measured at this interval."""
    words = build_options(fields, milliseconds)
    return query_listing(engines, "samples", words, lambda reply: parse_samples(reply, fields), execute)


def list_violations(engines: Engines, seconds: int, execute: Run = run_script) -> Listing:
    """List the violations that come within this time."""
    commands = {engine: build_listen_command(engine, seconds) for engine in engines.members}
    return build_listing("violations", call_each(commands, seconds + LIMIT, execute), engines, parse_violations)


def query_listing(engines: Engines, topic: Topic, words: Sequence[str], parse: Parse, execute: Run) -> Listing:
    return build_listing(topic, call_engines(engines.members, words, execute=execute), engines, parse)


def build_listing(topic: Topic, replies: Sequence[Reply], engines: Engines, parse: Parse) -> Listing:
    """Build a listing of all replies. A reply of another shape makes its node unknown."""
    rows, unread = list[Row](), dict(engines.unread)
    for reply in replies:
        if reply.fault:
            unread[reply.node] = reply.fault
            continue
        try:
            rows += list(parse(reply))
        except UNREADABLE as error:
            unread[reply.node] = f"{OTHER_SHAPE}: {type(error).__name__}"
    node_names = {engine.node for engine in engines.members} | {*engines.unread}
    marks = [
        mark for mark in engines.standing.values() if mark.node in node_names and TOPIC_BY_KIND.get(mark.kind) == topic
    ]
    return Listing(topic, tuple(rows), unread, tuple(marks))

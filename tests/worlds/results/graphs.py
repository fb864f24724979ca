"""Small graphs that never were, and what was judged on them: the words of the rule, without a host."""

from collections.abc import Mapping, Sequence

from gpustack.ask.judge import Judgement, Result, build_ok_result
from gpustack.ask.probe import CLUSTER, Evidence
from gpustack.doctor.entry import Edge, Fault, Fix, Group, Layer, Question, Role, Scope, State
from gpustack.doctor.finding import Verdict
from gpustack.doctor.graph import Graph, join_layers
from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.verdict import build_verdict

HOSTS = ("one", "two", "three")


def build_fault(id: str, role: Role = "fault", scope: Scope = "host") -> Fault:
    guard = "it is so" if role == "conditional" else ""
    questions = (Question(f"ask {id}", "it"),)
    return Fault(id, "host", scope, role, id, id, (), questions, Fix("fix it"), "manual", "", "real", (), guard=guard)


def build_entry(name: str) -> Fault | State:
    """`st-…` is a state, `…-pointer`, `…-info` and `…-when` have that role; `all-…` is of the cluster."""
    scope: Scope = "cluster" if "all-" in name else "host"
    if name.startswith("st-"):
        return State(name, "host", scope, name, name, f"ask {name}")
    roles: dict[str, Role] = {"pointer": "pointer", "info": "info", "when": "conditional"}
    return build_fault(name, roles.get(name.rsplit("-", 1)[-1], "fault"), scope)


def build_graph(edges: Sequence[str], groups: Sequence[Sequence[str]] = (), alone: Sequence[str] = ()) -> Graph:
    """Edges as `a -> b`, `a -> b?` (conditional), `a -> b *` (joins all hosts)."""
    graph_edges = []
    for line in edges:
        cause, _, rest = line.partition(" -> ")
        effect = rest.rstrip(" *?")
        graph_edges.append(Edge(cause, effect, "it is so" if "?" in rest else "", "all" if "*" in rest else ""))
    names = dict.fromkeys([*alone, *(name for edge in graph_edges for name in (edge.cause, edge.effect))])
    entries = [build_entry(name) for name in names]
    faults = tuple(entry for entry in entries if isinstance(entry, Fault))
    states = tuple(entry for entry in entries if isinstance(entry, State))
    return join_layers(
        [Layer("host", faults, states, tuple(graph_edges), tuple(Group(tuple(group), "one act") for group in groups))]
    )


def make_judgements(
    values: Mapping[str, str], evidence: Mapping[tuple[str, str], tuple[Evidence, ...]] | None = None
) -> dict[tuple[str, str], Judgement]:
    """`a@one + b@two` (or `a`, of the cluster) to a word: `!found` confirms, `?why` is unknown, all else refutes."""
    judgements = []
    for names, word in values.items():
        for name in names.split(" + "):
            id, _, host = name.partition("@")
            location = host or CLUSTER
            evidence_texts = (evidence or {}).get((id, location), ())
            if word.startswith("!"):
                difference = Result("it", "as it should be", word[1:])
                judgements.append(Judgement(id, location, "failed", difference, "", evidence_texts))
            elif word.startswith("?"):
                judgements.append(Judgement(id, location, "unknown", None, word[1:]))
            else:
                judgements.append(Judgement(id, location, "ok", build_ok_result(id, word), "", evidence_texts))
    return {judgement.place: judgement for judgement in judgements}


def judge_graph(graph: Graph, values: Mapping[str, str]) -> Verdict:
    return build_verdict(PlacedGraph(graph, HOSTS, make_judgements(values), {"all": [(HOSTS, HOSTS)]}))


def list_names(judgements: Sequence[Judgement]) -> list[str]:
    return [f"{judgement.id}@{judgement.location}" for judgement in judgements]


def list_roots(verdict: Verdict) -> list[tuple[str, tuple[str, ...]]]:
    return sorted((root.id, root.locations) for root in verdict.roots)

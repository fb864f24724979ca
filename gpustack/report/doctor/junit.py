"""A diagnosis for CI systems: a suite per layer, a case per fault or state and place. A root, and what is unexplained,
is a failure; what is unknown is an error; what is only a consequence is skipped and names its root."""

from collections.abc import Iterator
from itertools import groupby
from xml.etree.ElementTree import Element

from gpustack.ask.judge import Judgement
from gpustack.doctor.finding import Diagnosis, Place
from gpustack.doctor.graph import graph
from gpustack.report.junit import add, document, entry_for, shown, suite


def text(found: Diagnosis) -> str:
    snapshot = found.snapshot
    taken = snapshot.taken.strftime("%Y-%m-%dT%H:%M:%S")
    known, because = graph(), dict(consequences(found))
    guilty = {one.place for root in found.roots for one in (*root.judged, *root.correlated)}
    layered = sorted((one for one in found.judged.values() if one.id in known), key=lambda one: known[one.id].layer)
    suites = [
        suite(layer, [case(one, one.place in guilty, because.get(one.place, "")) for one in some], taken)
        for layer, some in groupby(layered, key=lambda one: known[one.id].layer)
    ]
    if found.drift:
        suites.append(suite("spec", list(drifted(found)), taken))
    return document("gpustack doctor", suites, snapshot.took, snapshot.inventory)


def consequences(found: Diagnosis) -> Iterator[tuple[Place, str]]:
    for note in found.verdict.notes:
        yield note.place, "harmless"
    for open_one in found.unexplained:
        yield from ((below.place, f"caused by {open_one.id}") for below in open_one.impact)
    for root in found.roots:
        yield from ((below.place, f"caused by {root.id}") for below in root.impact)


def case(one: Judgement, guilty: bool, because: str) -> Element:  # noqa: FBT001 - two kinds of confirmed
    made = entry_for(f"{graph()[one.id].layer}.{one.id}", one.where, sum(entry.answer.took for entry in one.evidence))
    output = "\n".join(shown(entry) for entry in one.evidence)
    if one.outcome == "unknown":
        add(made, "error", one.why, "unknown", output)
    elif one.outcome == "failed" and because and not guilty:
        add(made, "skipped", because)
    elif one.outcome == "failed":
        add(made, "failure", str(one.result), "root cause" if guilty else "unexplained", output)
    return made


def drifted(found: Diagnosis) -> Iterator[Element]:
    for one in found.drift:
        for where in one.locations:
            made = entry_for(f"spec.{one.step}.{one.check}", where, 0.0)
            add(made, "failure", str(one.result), one.result.cure)
            yield made

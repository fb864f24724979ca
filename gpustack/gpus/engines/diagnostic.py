"""DCGM's diagnostic as dcgmi prints it with --json: which tests passed, failed and were skipped, on which GPU.

DCGM 4.6.0, dcgmi/Diag.cpp (HelperJsonBuildOutput, HelperJsonAddResult) and nvvs/include/NvvsJsonStrings.h:

    {"DCGM Diagnostic": {"test_categories": [{"category": …, "tests": [{"name": …, "results": [{"entity_group": "GPU",
      "entity_id": 0, "status": "Pass"|"Skip"|"Fail", "warnings": [{"warning": …, "error_id": …, "error_category": …,
      "error_severity": …}], "info": […]}], "test_summary": {"status": …}}]}]}, "entity_groups": […], "metadata": {…}}

A warning is printed as Fail; a test that did not run has a name and nothing else. What could not be run at all has
`runtime_error` in place of the categories. NVIDIA promises no shape for other versions. Never seen live.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpustack.ask.probe import UNREADABLE
from gpustack.gpus.engines.boxes import OTHER_SHAPE, read_documents
from gpustack.gpus.engines.call import NVVS_ERROR, NVVS_ISOLATE_ERROR, Reply

Outcome = Literal["passed", "failed", "skipped", "unknown"]
OUTCOMES: Mapping[str, Outcome] = {"Pass": "passed", "Fail": "failed", "Skip": "skipped"}
SEVERITIES = {0: "none", 1: "monitor", 2: "isolate", 3: "unknown", 4: "triage", 5: "config", 6: "reset"}
"""What DCGM advises: dcgmlib/dcgm_errors.h, dcgmErrorSeverity_enum."""
READ = (0, NVVS_ERROR, NVVS_ISOLATE_ERROR)
"""Return codes with results: all passed, a test failed, and so that the GPU is to be isolated."""
TIMES = {1: 120.0, 2: 900.0, 3: 3600.0, 4: 10800.0}
"""Seconds after which a level is stopped: several times what dcgmi's help (seconds, 2 and 15 minutes) and NVIDIA's
documentation (1 to 2 hours for 4) say."""


@dataclass(frozen=True)
class Verdict:
    """One test. `entity` is `GPU 0`, or empty for the whole node; `why` are DCGM's words, each with its advice."""

    node: str
    category: str
    test: str
    entity: str
    outcome: Outcome
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnostic:
    """`versions` are DCGM's and the driver's, `unread` is why nothing is known of a node; both by node."""

    level: int
    verdicts: tuple[Verdict, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str = ""

    def count(self, outcome: Outcome, node: str = "") -> int:
        return sum(1 for one in self.verdicts if one.outcome == outcome and node in ("", one.node))

    @property
    def unproven(self) -> tuple[str, ...]:
        """Nodes on which no test passed: to skip all is not to pass."""
        nodes = dict.fromkeys(one.node for one in self.verdicts)
        return tuple(node for node in nodes if not self.count("passed", node))


def add_losses(found: Diagnostic, lost: Mapping[str, str], unread: Mapping[str, str]) -> Diagnostic:
    """What nodes lack after a test under load."""
    verdicts = (Verdict(node, "gpustack", "offered GPUs", "", "failed", (why,)) for node, why in lost.items())
    return replace(found, verdicts=(*found.verdicts, *verdicts), unread={**unread, **found.unread})


def words(level: int) -> tuple[str, ...]:
    """The engine itself ends it at the limit, whatever becomes of us."""
    return ("diag", "--run", str(level), "--json", "--timeout", str(round(TIMES[level])))


def judge_level(level: int, replies: Sequence[Reply], unread: Mapping[str, str]) -> Diagnostic:
    verdicts, versions, lost = list[Verdict](), dict[str, str](), dict(unread)
    for reply in replies:
        try:
            document = read_diagnostic(reply)
            found = tuple(parse_tests(reply.node, document))
        except UNREADABLE as error:
            lost[reply.node] = str(error) if type(error) is ValueError else f"{OTHER_SHAPE}: {type(error).__name__}"
            continue
        verdicts += found
        metadata = document.get("metadata", {})
        versions[reply.node] = (
            f"DCGM {metadata.get('version', '?')}, driver {metadata.get('Driver Version Detected', '?')}"
        )
        if reply.status and not any(one.outcome == "failed" for one in found):
            lost[reply.node] = f"DCGM returned {reply.status}, and no test says why"
    return Diagnostic(level, tuple(verdicts), versions, lost)


def read_diagnostic(reply: Reply) -> Mapping[str, Any]:
    """Raises ValueError, in words, where there are no results."""
    if reply.lost:
        raise ValueError(reply.lost)
    try:
        (document,) = read_documents(reply.out) if "{" in reply.out else ({},)
    except ValueError:
        raise ValueError(reply.fault or OTHER_SHAPE) from None
    body = document.get("DCGM Diagnostic", {})
    if error := body.get("runtime_error"):
        raise ValueError(" ".join(str(error).split()))
    if reply.status not in READ or "test_categories" not in body:
        raise ValueError(reply.fault or "dcgmi named no test")
    return document


def parse_tests(node: str, document: Mapping[str, Any]) -> Iterator[Verdict]:
    for category in document["DCGM Diagnostic"]["test_categories"]:
        for test in category["tests"]:
            yield from parse_test(node, category["category"], test)


def parse_test(node: str, category: str, test: Mapping[str, Any]) -> Iterator[Verdict]:
    """A line for each entity, and one for the node where its summary says what none of them does."""
    results, summary = list(test.get("results") or ()), test.get("test_summary")
    for one in results:
        yield verdict(node, category, test["name"], f"{one['entity_group']} {one['entity_id']}", one)
    if summary and summary["status"] not in [one["status"] for one in results]:
        yield verdict(node, category, test["name"], "", summary)
    if not results and not summary:
        yield Verdict(node, category, test["name"], "", "unknown", ("it was not run",))


def verdict(node: str, category: str, test: str, entity: str, found: Mapping[str, Any]) -> Verdict:
    outcome = OUTCOMES.get(found["status"], "unknown")
    warnings = (f"{one['warning'].strip()} ({advice(one)})" for one in found.get("warnings", ()))
    why = (*warnings, *map(str, found.get("info", ()))) if outcome != "passed" else ()
    return Verdict(node, category, test, entity, outcome, tuple(why))


def advice(warning: Mapping[str, Any]) -> str:
    return f"error {warning['error_id']}, {SEVERITIES.get(warning['error_severity'], 'unknown')}"

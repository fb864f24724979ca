"""DCGM's diagnostic as dcgmi prints it with --json: tests that passed, failed and were skipped, by GPU.

DCGM 4.6.0, dcgmi/Diag.cpp (HelperJsonBuildOutput, HelperJsonAddResult) and nvvs/include/NvvsJsonStrings.h:

    {"DCGM Diagnostic": {"test_categories": [{"category": …, "tests": [{"name": …, "results": [{"entity_group": "GPU",
      "entity_id": 0, "status": "Pass"|"Skip"|"Fail", "warnings": [{"warning": …, "error_id": …, "error_category": …,
      "error_severity": …}], "info": […]}], "test_summary": {"status": …}}]}]}, "entity_groups": […], "metadata": {…}}

A warning is printed as Fail; a test that did not run has a name and nothing else. A diagnostic that could not run has
`runtime_error` in place of the categories. NVIDIA promises no shape for other versions. It was never seen live.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpustack.ask.probe import UNREADABLE
from gpustack.engines.call import NVVS_ERROR, NVVS_ISOLATE_ERROR, Reply
from gpustack.engines.dcgmi_json import OTHER_SHAPE, parse_documents
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status

Outcome = Literal["passed", "failed", "skipped", "unknown"]
OUTCOMES: Mapping[str, Outcome] = {"Pass": "passed", "Fail": "failed", "Skip": "skipped"}
SEVERITIES = {0: "none", 1: "monitor", 2: "isolate", 3: "unknown", 4: "triage", 5: "config", 6: "reset"}
"""Advice of DCGM by severity: dcgmlib/dcgm_errors.h, dcgmErrorSeverity_enum."""
CATEGORIES = dict(
    enumerate(
        (
            "no category", "performance threshold", "performance violation", "software configuration",
            "software library", "software Xid", "software CUDA", "software EUD", "software", "hardware thermal",
            "hardware memory", "hardware NVLink", "hardware NVSwitch", "hardware PCIe", "hardware power", "hardware",
            "internal",
        )
    )
)  # fmt: skip
"""Categories of errors of DCGM by number: dcgmlib/dcgm_errors.h, dcgmErrorCategory_enum."""
READ = (0, NVVS_ERROR, NVVS_ISOLATE_ERROR)
"""Return codes with results: all tests passed, a test failed, and a test failed so that the GPU is to be isolated."""
TIMES = {1: 120.0, 2: 900.0, 3: 3600.0, 4: 10800.0}
"""Seconds after which a level is stopped: several times the times of dcgmi's help (seconds, 2 and 15 minutes) and of
NVIDIA's documentation (1 to 2 hours for 4)."""


@dataclass(frozen=True)
class Verdict:
    """Hold the outcome of one test. `entity` is `GPU 0`, or empty for the whole node; `reasons` are DCGM's words, each
    with its category and advice. Those of a passed test are its warnings."""

    node: str
    category: str
    test: str
    entity: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnostic:
    """Hold the verdicts of a level. `versions` are DCGM's and the driver's, `unread` says why nothing is known of a
    node; both are by node."""

    level: int
    verdicts: tuple[Verdict, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stop_reason: str = ""

    def count(self, outcome: Outcome, node: str = "") -> int:
        return sum(1 for verdict in self.verdicts if verdict.outcome == outcome and node in ("", verdict.node))

    @property
    def unproven_nodes(self) -> tuple[str, ...]:
        """List the nodes on which no test passed: a node that skipped all tests has not passed."""
        nodes = dict.fromkeys(verdict.node for verdict in self.verdicts)
        return tuple(node for node in nodes if not self.count("passed", node))

    @property
    def passed_nodes(self) -> tuple[str, ...]:
        """List the nodes on which a test passed, and none failed or is unknown."""
        failed_nodes = {verdict.node for verdict in self.verdicts if verdict.outcome in {"failed", "unknown"}}
        nodes = dict.fromkeys(verdict.node for verdict in self.verdicts if verdict.outcome == "passed")
        return tuple(node for node in nodes if node not in failed_nodes and node not in self.unread)

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the tests. A node on which every test was skipped is unknown."""
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            differs=self.count("failed"),
            unknown=self.unread or self.unproven_nodes or self.count("unknown"),
        )


def add_losses(diagnostic: Diagnostic, lost_gpus: Mapping[str, str], unread: Mapping[str, str]) -> Diagnostic:
    """Add the GPUs that nodes lack after a test under load."""
    verdicts = (
        Verdict(node, "gpustack", "offered GPUs", "", "failed", (reason,)) for node, reason in lost_gpus.items()
    )
    return replace(diagnostic, verdicts=(*diagnostic.verdicts, *verdicts), unread={**unread, **diagnostic.unread})


def build_options(level: int) -> tuple[str, ...]:
    """Build the options of dcgmi. The engine itself ends the diagnostic at the limit, also when gpustack is gone."""
    return ("diag", "--run", str(level), "--json", "--timeout", str(round(TIMES[level])))


def judge_level(level: int, replies: Sequence[Reply], unread: Mapping[str, str]) -> Diagnostic:
    verdicts, versions, unread_nodes = list[Verdict](), dict[str, str](), dict(unread)
    for reply in replies:
        try:
            document = read_diagnostic(reply)
            node_verdicts = tuple(parse_tests(reply.node, document))
            metadata = {str(name): str(word) for name, word in document.get("metadata", {}).items()}
        except UNREADABLE as error:
            unread_nodes[reply.node] = (
                str(error) if type(error) is ValueError else f"{OTHER_SHAPE}: {type(error).__name__}"
            )
            continue
        verdicts += node_verdicts
        versions[reply.node] = (
            f"DCGM {metadata.get('version', '?')}, driver {metadata.get('Driver Version Detected', '?')}"
        )
        if reply.status and not any(verdict.outcome == "failed" for verdict in node_verdicts):
            unread_nodes[reply.node] = f"DCGM returned {reply.status}, and no test says why"
    return Diagnostic(level, tuple(verdicts), versions, unread_nodes)


def read_diagnostic(reply: Reply) -> Mapping[str, Any]:
    """Read the document of a reply. Raise ValueError with a sentence where there are no results."""
    if reply.missing_reason:
        raise ValueError(reply.missing_reason)
    try:
        (document,) = parse_documents(reply.stdout) if "{" in reply.stdout else ({},)
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
    """Parse a verdict for each entity, and one for the node where its summary has a status that none of them has."""
    results, summary = list(test.get("results") or ()), test.get("test_summary")
    for result in results:
        yield parse_verdict(node, category, test["name"], f"{result['entity_group']} {result['entity_id']}", result)
    if summary and summary["status"] not in [entry["status"] for entry in results]:
        yield parse_verdict(node, category, test["name"], "", summary)
    if not results and not summary:
        yield Verdict(node, category, test["name"], "", "unknown", ("it was not run",))


def parse_verdict(node: str, category: str, test: str, entity: str, result: Mapping[str, Any]) -> Verdict:
    outcome = OUTCOMES.get(result["status"], "unknown")
    warnings = (f"{warning['warning'].strip()} ({format_advice(warning)})" for warning in result.get("warnings", ()))
    info = map(str, result.get("info", ())) if outcome != "passed" else ()
    return Verdict(node, category, test, entity, outcome, (*warnings, *info))


def format_advice(warning: Mapping[str, Any]) -> str:
    severity = SEVERITIES.get(warning["error_severity"], "unknown")
    category = CATEGORIES.get(warning.get("error_category", -1), "unknown category")
    return f"error {warning['error_id']}, {category}, {severity}"

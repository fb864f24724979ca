"""Host engines that never were. What their dcgmi prints is written after DCGM 4.6.0's source, as each text says; no
output of a real one was seen."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpustack.config.host import Host
from gpustack.engines.engine import Engine, Engines
from tests.worlds.snapshots.build import TAKEN_AT

ACTING, GPU3 = Host("kube1", "10.0.0.1"), Host("gpu3", "10.0.0.3")
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
IN_POD = KUBECTL + " --namespace gpu-operator exec nvidia-dcgm-{0} --container nvidia-dcgm-ctr -- "
FIRST, TWO = (Engine(node, ACTING, IN_POD.format(node)) for node in ("gpu1", "gpu2"))
ON_HOST = Engine("gpu3", GPU3, address="127.0.0.1:5555")
ENGINES = Engines((FIRST, TWO), {"gpu4": "no DCGM host engine runs there"}, ACTING, {}, TAKEN_AT)
CALL = re.compile(r"^p dcgm\.call \d+ (.*?)\nprintf ", re.MULTILINE | re.DOTALL)
Answer = tuple[int, str]


@dataclass
class Hosts:
    """Answers commands by the first key that is in them, as (exit status, stdout); what was typed is kept."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    typed_commands: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _: None

    def execute(self, host: Host, script: str, *, limit: float, last: str = "") -> Iterator[str]:
        match = CALL.search(script)
        assert match, script
        (command,) = shlex.split(match[1])
        self.before(command)
        self.typed_commands.append(command)
        rc, stdout = self.answer(command)
        marker = last.split(maxsplit=1)[0]
        yield from f"\n{marker} dcgm.call 1.0\n{stdout}\n{marker} . {rc} 1.2\n\n{last}".split("\n")

    def answer(self, command: str) -> Answer:
        return next((answer for key, answer in self.answers.items() if key in command), (0, ""))

    def list_actions(self) -> list[str]:
        """List what was typed without the lines of audit."""
        return [line for line in self.typed_commands if not line.startswith("logger")]


def format_json(document: Any) -> str:
    """Format a document as jsoncpp prints it (toStyledString)."""
    return json.dumps(document, indent=3) + "\n"


def wrap_value(value: str, *further_values: str) -> dict[str, Any]:
    """DcgmiOutput.h, DcgmiOutputBoxer::set and addOverflow."""
    return {"overflow": list(further_values), "value": value} if further_values else {"value": value}


# Group.cpp, RunGroupList.
GROUPS = format_json(
    {
        "body": {
            "Groups": {
                "children": {
                    "0": {
                        "children": {
                            "Entities": wrap_value("GPU 0, GPU 1"),
                            "Group ID": wrap_value("0"),
                            "Group Name": wrap_value("DCGM_ALL_SUPPORTED_GPUS"),
                        }
                    },
                    "2": {
                        "children": {
                            "Entities": wrap_value("None"),
                            "Group ID": wrap_value("2"),
                            "Group Name": wrap_value("training"),
                        }
                    },
                }
            }
        },
        "header": ["GROUPS", "2 groups found."],
    }
)


def render_policy(gpu: int, *conditions: str, action: str = "None", validation: str = "None") -> str:
    """Policy.cpp, DisplayCurrentViolationPolicy with -v."""
    body = {
        "Action on violation": wrap_value(action),
        "Isolation mode": wrap_value("Manual"),
        "Validation after action": wrap_value(validation),
        "Validation failure action": wrap_value("None"),
        "Violation conditions": wrap_value(*(conditions or ("None",))),
    }
    return format_json({"body": body, "header": ["Policy Information", f"GPU ID: {gpu}"]})


POLICIES = (
    "Policy information\n"
    + render_policy(0)
    + render_policy(1, "Double-bit ECC errors", "Max temperature threshold - 85")
)


def render_setting(gpu: int, **current: str) -> str:
    """Config.cpp, RunGetConfig with -v."""
    values = {"Compute Mode": "Unrestricted", "ECC Mode": "Enabled", "Sync Boost": "Disabled"}
    values |= {"Memory Application Clock": "2619", "SM Application Clock": "1980", "Power Limit": "300"}
    values |= {name.replace("_", " "): value for name, value in current.items()}
    body = {
        name: {
            "children": {
                "Current": wrap_value(value),
                "Field": wrap_value(name),
                "Target": wrap_value("Not Configured"),
            }
        }
        for name, value in values.items()
    }
    return format_json({"body": body, "header": [f"GPU ID: {gpu}", "NVIDIA H100 80GB HBM3"]})


SETTINGS = render_setting(0) + render_setting(1, Power_Limit="700")
# DcgmiProfile.cpp, RunProfileList; A.10 is the eleventh group of a letter.
METRICS = format_json(
    {
        "body": {
            f"{index}_0": {
                "children": {
                    "Field ID": wrap_value(number),
                    "Field Tag": wrap_value(tag),
                    "Group.Subgroup": wrap_value(name),
                }
            }
            for index, (name, number, tag) in enumerate(
                (("A.0", "1002", "sm_active"), ("A.1", "1004", "tensor_active"), ("B.0", "1009", "pcie_tx_bytes"))
            )
        }
    }
)


def build_result(gpu: int, status: str, *warnings: tuple[str, int, int]) -> dict[str, Any]:
    """Diag.cpp, HelperJsonAddResult: words, error_id and error_severity of each warning."""
    result = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status}
    written_warnings = [
        {"error_category": 10, "error_id": id, "error_severity": severity, "warning": text}
        for text, id, severity in warnings
    ]
    return {**result, "warnings": written_warnings} if written_warnings else result


def render_diagnostic(*tests: dict[str, Any]) -> str:
    """Diag.cpp, HelperJsonBuildOutput."""
    categories = [{"category": "Deployment", "tests": list(tests)}]
    metadata = {"Driver Version Detected": "580.95.05", "version": "4.6.0"}
    return format_json({"DCGM Diagnostic": {"test_categories": categories}, "entity_groups": [], "metadata": metadata})


def build_software_test(*results: dict[str, Any], status: str = "Pass") -> dict[str, Any]:
    return {"name": "software", "results": list(results), "test_summary": {"status": status}}


# ProcessStats.cpp, ViewJobStats with -v: the slowdown of all GPUs below each of them.
def render_job(*gpus: int) -> str:
    def render_row(name: str, value: str) -> str:
        return f"| {name:34} | {value:39} |\n"

    text = "Successfully retrieved statistics for job: train-7. \n"
    for gpu in gpus:
        text += "+" + "-" * 78 + "+\n" + f"| GPU ID: {gpu:<68} |\n" + "+" + "=" * 36 + "+" + "=" * 41 + "+\n"
        text += "|-----  Execution Stats  ------------+-----------------------------------------|\n"
        text += render_row("Start Time", "Wed Nov 25 10:00:00 2026") + render_row("End Time", "Still Running")
        text += "+-----  Slowdown Stats  -------------+-----------------------------------------+\n"
        text += render_row("Due to - Power (%)", "1.5") + render_row("       - Thermal (%)", "0")
        text += "+--  Compute Process Utilization  ---+-----------------------------------------+\n"
        text += render_row("PID", "4711") + render_row("    Avg SM Utilization (%)", str(90 + gpu))
        text += render_row("PID", "4712") + render_row("    Avg SM Utilization (%)", "Not Found")
        text += "+------------------------------------+-----------------------------------------+\n\n"
    return text


# DeviceMonitor.cpp: SetHeaderForOutput and PrintMetricsRow; a column is as wide as its field's format says, and 6 + 2.
def format_samples(*cells: str) -> str:
    return "".join(f"{text:<{width}}" for text, width in zip(cells, (16, 13, 13, 13), strict=True)) + "\n"


SAMPLES = format_samples("#Entity", "SMACT", "POWER", "FBUSD") + format_samples("ID", "", "W", "MB")
SAMPLES += format_samples("GPU 0", "N/A", "639.000", "71234") + format_samples("GPU 1", "N/A", "70.000", "12")
SAMPLES += format_samples("GPU 0", "0.913", "640.120", "71234567...") + format_samples("GPU 1", "", "71.000", "12")

# Policy.cpp, RegisterForPolicyUpdates and ListenForViolations.
VIOLATIONS = """Listening for violations.
Timestamp: Wed Nov 25 10:00:00 2026
A double-bit ECC error has violated policy manager values.
DBE error count: 2
Timestamp: Wed Nov 25 10:00:09 2026
XID error 79 detected.
"""

"""Readers of files, and of the output of dcgmi and dcgmproftester."""

from functools import cache, partial
from pathlib import Path

from gpustack.ask.recording import read_recording, render_lines
from gpustack.burn.output import parse_output
from gpustack.config import inventory
from gpustack.config.ansible.cfg import AnsibleCfg
from gpustack.config.dashboards.json_model import read_dashboard
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.config.secrets.secret_values import redact_secrets
from gpustack.config.validate import judge_inventory
from gpustack.config.values import read_operator_values
from gpustack.engines.call import Reply
from gpustack.engines.diagnostic import judge_level
from gpustack.engines.engine import Engines
from gpustack.engines.job import parse_figures
from gpustack.engines.listings import LISTS, Parse, Topic, build_listing
from gpustack.engines.samples import choose_fields, parse_samples
from gpustack.engines.violations import parse_violations
from gpustack.profile.file import ADAPTER
from tests.unit.hostile.content import spoil_content, spoil_document
from tests.unit.hostile.reader import Reader, run_command
from tests.unit.profile.right_answers import read_made_profile
from tests.worlds.programs import engines
from tests.worlds.snapshots.build import TAKEN_AT
from tests.worlds.snapshots.reset_hosts import build_snapshot

TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent
CHART = "kube-prometheus-stack-88.5.3"
ALONE = Engines((engines.FIRST,), {}, engines.ACTING, {}, TAKEN_AT)
FIELDS = choose_fields(("SM_ACTIVE", "POWER_USAGE", "FB_USED"))
OUTPUT = """\
Worker 0:0[1004]: Message: Bus ID 00000000:65:00.0 mapped to cuda device ID 0
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 9
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 0
Worker 0:0 [1004]: TensorEngineActive:  generated ???, dcgm 0 (6.12e+05 gflops).
Worker 0:0[1005]: DramUtil generated 0.851/0.853, dcgm 0 (1.66e+03 GiB/sec). bandwidthDivisor 1.00
GPU 0, TestField 1004 test PASSED.
"""


def read_profiles(content: bytes, folder: Path) -> None:
    """Analyze a profile, and compare it with one that is right."""
    (folder / "spoiled.json").write_bytes(content)
    (folder / "right.json").write_bytes(load_profiles()[0])
    run_command("profile", "analyze", str(folder / "spoiled.json"), "-o", ("human", "json")[len(content) % 2])
    run_command("profile", "compare", str(folder / "right.json"), str(folder / "spoiled.json"))


@cache
def load_profiles() -> tuple[bytes, ...]:
    """Load made profiles in the form of today, and one that was cut off."""
    names = ("spin", "dead-profiling-counters", "power-limit-350")
    profiles = tuple(ADAPTER.dump_json(read_made_profile(name)) for name in names)
    return (*profiles, profiles[0][:-40])


def read_values(content: bytes, folder: Path) -> None:
    (folder / "values").mkdir(exist_ok=True)
    (folder / "values" / "monitoring.yaml").write_bytes(content)
    read_operator_values(folder, "monitoring", CHART)


def read_spec(content: bytes, folder: Path) -> None:
    (folder / "gpustack.yml").write_bytes(content)
    variables = inventory.read_mapping(folder / "gpustack.yml")
    judge_inventory(
        folder, {CONTROL_PLANE: ("k1",), NODE: ("k1",)}, {"k1": variables}, AnsibleCfg(None, "", "", "", ""), None
    )


def read_snapshot(content: bytes, folder: Path) -> None:
    (folder / "sent.jsonl").write_bytes(content)
    read_recording(folder / "sent.jsonl")


def read_board(content: bytes, folder: Path) -> None:
    (folder / "mine.json").write_bytes(content)
    read_dashboard(folder / "mine.json")


def read_bytes(name: str) -> bytes:
    return (ROOT / name).read_bytes()


@cache
def load_snapshots() -> tuple[bytes, ...]:
    return ("".join(render_lines(build_snapshot())).encode(),)


def read_dcgmi(topic: Topic, parse: Parse, content: bytes, _: Path) -> None:
    build_listing(topic, (build_reply(content),), ALONE, parse)


def build_reply(content: bytes) -> Reply:
    return Reply("gpu1", "dcgmi", stdout=content.decode(errors="replace"))


DCGMI: dict[Topic, tuple[str, Parse]] = {
    "groups": (engines.GROUPS, LISTS["groups"][1]),
    "policies": (engines.POLICIES, LISTS["policies"][1]),
    "settings": (engines.SETTINGS, LISTS["settings"][1]),
    "metrics": (engines.METRICS, LISTS["metrics"][1]),
    "figures": (engines.render_job(0, 1), parse_figures),
    "samples": (engines.SAMPLES, lambda reply: parse_samples(reply, FIELDS)),
    "violations": (engines.VIOLATIONS, parse_violations),
}
SPEC = b"""\
gpustack:
  cost: {currency: EUR, prices: [{per_gpu_hour: 2.5, model: H100, pool: a, since: 2026-10-01}], budgets: {team-a: 5000}}
  capacity: {team_label: team, pool_label: pool, renamed: {a: b}}
  monitoring: {retention: 30d}
"""
DIAGNOSTIC = engines.render_diagnostic(engines.build_software_test(engines.build_result(0, "Pass")))


def encode_text(text: str) -> tuple[bytes, ...]:
    return (text.encode(),)


READERS = (
    Reader("profile files", load_profiles, read_profiles, spoil_document, batch=1),
    Reader("recordings of probes", load_snapshots, read_snapshot, spoil_content, batch=2),
    Reader("values/*.yaml", lambda: (read_bytes("values/monitoring.yaml"),), read_values),
    Reader("gpustack.yml", lambda: (read_bytes("inventories/example/group_vars/all/gpustack.yml"), SPEC), read_spec),
    Reader(
        "dashboards of the operator",
        lambda: (read_bytes("values/dashboards/gpu-cost.json"),),
        read_board,
        spoil_document,
        5,
    ),
    *(
        Reader(
            f"dcgmi, {topic}",
            partial(encode_text, text),
            partial(read_dcgmi, topic, parse),
        )
        for topic, (text, parse) in DCGMI.items()
    ),
    Reader(
        "dcgmi diag",
        lambda: (DIAGNOSTIC.encode(),),
        lambda content, _: judge_level(1, (build_reply(content),), {}),
        spoil_document,
    ),
    Reader(
        "dcgmproftester",
        lambda: (OUTPUT.encode(),),
        lambda content, _: parse_output(content.decode(errors="replace"), "1004"),
    ),
    Reader(
        "documents within texts",
        lambda: (read_bytes("values/monitoring.yaml"),),
        lambda content, _: redact_secrets({"x": content.decode(errors="replace")}),
    ),
)

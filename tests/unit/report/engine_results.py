"""Results of asking and changing the host engines of engines.py."""

from datetime import timedelta

from gpustack.engines.call import Reply
from gpustack.engines.change import ChangeResult, Preview
from gpustack.engines.diagnostic import judge_level
from gpustack.engines.endings import NodeEnding
from gpustack.engines.listings import Listing, parse_policies
from gpustack.engines.operations import set_config
from gpustack.engines.revert import Revert
from gpustack.probes.gpu.temporary_changes import Mark
from tests.worlds.programs import engines
from tests.worlds.programs.engines import ENGINES, build_result, build_software_test, render_diagnostic
from tests.worlds.snapshots.build import TAKEN_AT

DEADLINE, EARLIER = TAKEN_AT + timedelta(hours=2), TAKEN_AT - timedelta(hours=1)
POLICIES = Listing(
    "policies",
    tuple(parse_policies(Reply("gpu1", "dcgmi policy --get", 0, engines.POLICIES))),
    ENGINES.unread,
    (
        Mark("gpu1", "policy", DEADLINE, "ann@desk (pid 7)", "", ("ecc temperature=85",)),
        Mark("gpu2", "policy", EARLIER, "bob@desk (pid 8)", "xid", ("ecc",), overdue=True),
    ),
)
LIMIT = set_config(250, "", ecc=None, keep=7200)
MARKS = tuple(Mark(node, "power-limit", DEADLINE, "ann@desk (pid 7)", "300", ("250",)) for node in ("gpu1", "gpu2"))
PREVIEW = Preview(LIMIT, ENGINES, DEADLINE, MARKS)
CHANGE_RESULT = ChangeResult(
    LIMIT,
    (
        NodeEnding("gpu1", "done"),
        NodeEnding("gpu2", "refused", "GPU 1: Power Limit is Not Supported"),
        NodeEnding("gpu4", "unknown", "no DCGM host engine runs there"),
    ),
    DEADLINE,
    (
        Revert("gpu3", "profiling", "done"),
        Revert("gpu3", "clocks", "left", "GPU 0: clocks 2619,1500 MHz; somebody else has set it since, and it stays"),
    ),
    marks=MARKS,
)
BROKEN_GPU = ("GPU 1 has a pending row remap.", 87, 6)
DIAGNOSTIC = judge_level(
    1,
    [
        Reply("gpu1", "", 0, render_diagnostic(build_software_test(build_result(0, "Pass"), build_result(1, "Pass")))),
        Reply(
            "gpu2",
            "",
            -30,
            render_diagnostic(
                build_software_test(build_result(0, "Pass"), build_result(1, "Fail", BROKEN_GPU), status="Fail")
            ),
        ),
        Reply("gpu3", "", 0, render_diagnostic(build_software_test(build_result(0, "Skip"), status="Skip"))),
    ],
    ENGINES.unread,
)

"""What came of asking and changing the host engines of engines.py."""

from datetime import timedelta

from gpustack.gpus.engines.call import Reply
from gpustack.gpus.engines.change import Changed, NodeEnding, Preview
from gpustack.gpus.engines.diagnostic import judge_level
from gpustack.gpus.engines.listings import Listing, parse_policies
from gpustack.gpus.engines.works import pause_profiling
from tests.worlds import engines
from tests.worlds.engines import ENGINES, diagnostic, result, software
from tests.worlds.snapshot import TAKEN

POLICIES = Listing(
    "policies", tuple(parse_policies(Reply("gpu1", "dcgmi policy --get", 0, engines.POLICIES))), ENGINES.unread
)
PAUSE, UNTIL = pause_profiling(1800), TAKEN + timedelta(minutes=30)
PREVIEW = Preview(PAUSE, ENGINES, UNTIL)
CHANGED = Changed(
    PAUSE,
    (
        NodeEnding("gpu1", "done"),
        NodeEnding("gpu2", "refused", "DCGM returned -36: Error: unable to pause profiling metrics"),
        NodeEnding("gpu4", "unknown", "no DCGM host engine runs there"),
    ),
    UNTIL,
    (NodeEnding("gpu3", "done"),),
)
BROKEN = ("GPU 1 has a pending row remap.", 87, 6)
DIAGNOSTIC = judge_level(
    1,
    [
        Reply("gpu1", "", 0, diagnostic(software(result(0, "Pass"), result(1, "Pass")))),
        Reply("gpu2", "", -30, diagnostic(software(result(0, "Pass"), result(1, "Fail", BROKEN), status="Fail"))),
        Reply("gpu3", "", 0, diagnostic(software(result(0, "Skip"), status="Skip"))),
    ],
    ENGINES.unread,
)

"""The results of `gpustack remediate` and `gpustack care`, which gpustack/report/renderings.py takes in."""

from gpustack.exit_status import ExitStatus
from gpustack.report.rendering import Rendering

LADDER = Rendering("remediation.ladder:Ladder", human="remediation.text:render_ladder")
REMEDIATION = Rendering(
    "remediation.result:RemediationResult",
    human="remediation.text:render_human",
    json="remediation.json:render_json",
    schema="remediation",
    commands="`gpustack remediate`",
    meanings={
        ExitStatus.OK: "the rung was taken and verified, or none is gpustack's to take; with --check, nothing stands "
        "against it",
        ExitStatus.DIFFERS: "with --check, a guard rail refuses the next rung, or a pod has to be named",
        ExitStatus.FAILED: "refused by a guard rail, or the rung failed",
        ExitStatus.UNKNOWN: "unknown: the verdict",
    },
)
CARE = Rendering(
    "remediation.care_round:CareRound",
    human="remediation.care:render_human",
    json="remediation.care:render_json",
    schema="care",
    commands="`gpustack care`",
    meanings={
        ExitStatus.OK: "no node asks for an act",
        ExitStatus.DIFFERS: "a node asks for an act: it was cordoned, or it is named with the reason",
        ExitStatus.FAILED: "a node could not be read or cordoned",
        ExitStatus.UNKNOWN: "unknown: the verdict on a node",
    },
)
REMEDIATION_RENDERINGS = (LADDER, REMEDIATION, CARE)

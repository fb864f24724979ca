"""The results of `gpustack remediate`, declared as in gpustack/report/renderings.py, which takes them in."""

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
REMEDIATION_RENDERINGS = (LADDER, REMEDIATION)

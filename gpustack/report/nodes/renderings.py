"""The results of the commands `gpustack node`, declared as in gpustack/report/renderings.py, which takes them in."""

from gpustack.exit_status import ExitStatus
from gpustack.report.rendering import Rendering

DRAIN_PLAN = Rendering("nodes.drain_plan:DrainPlan", human="nodes.text:render_plan")
DRAIN = Rendering(
    "nodes.drain:DrainResult",
    human="nodes.text:render_drain",
    json="nodes.json:render_drain",
    schema="node-drain",
    commands="`gpustack node drain`",
    meanings={
        ExitStatus.OK: "every pod that was to leave has left; with --check, it can be drained",
        ExitStatus.DIFFERS: "a pod did not leave in time; with --check, a pod would be refused",
        ExitStatus.FAILED: "refused, or stopped",
        ExitStatus.UNKNOWN: "unknown: which pods are left",
    },
)
UNCORDON = Rendering(
    "nodes.uncordon:UncordonResult",
    human="nodes.text:render_uncordon",
    json="nodes.json:render_uncordon",
    schema="node-uncordon",
    commands="`gpustack node uncordon`",
    meanings={ExitStatus.OK: "the node takes new pods", ExitStatus.FAILED: "refused, or the API did not do it"},
)
REBOOT_PLAN = Rendering("nodes.reboot_plan:RebootPlan", human="nodes.reboot:render_plan")
REBOOT = Rendering(
    "nodes.rolling_reboot:RebootResult",
    human="nodes.reboot:render_human",
    json="nodes.reboot:render_json",
    schema="node-reboot",
    commands="`gpustack node reboot`",
    meanings={
        ExitStatus.OK: "every host was rebooted and is as before, or none was due; with --check, all can be rebooted",
        ExitStatus.DIFFERS: "a node was skipped; with --check, it would be, as for a pod that is refused",
        ExitStatus.FAILED: "a node is not as before, or the reboot was stopped",
    },
)
REMOVAL_PLAN = Rendering("nodes.removal_plan:RemovalPlan", human="nodes.removal:render_removal_plan")
REMOVE = Rendering(
    "nodes.node_removal:NodeRemovalResult",
    human="nodes.removal:render_removal_result",
    json="nodes.removal:render_removal_json",
    schema="node-remove",
    commands="`gpustack node remove`",
    meanings={
        ExitStatus.OK: "the cluster has the node no more, and nothing of gpustack is on its host; with --check, shown",
        ExitStatus.DIFFERS: "a pod did not leave in time; with --check, it would be refused",
        ExitStatus.FAILED: "refused, stopped, or a task failed",
        ExitStatus.INCOMPLETE: "something is left on the host",
        ExitStatus.UNKNOWN: "unknown: which pods are left, or what is left on the host",
    },
)
NODE_RENDERINGS = (DRAIN_PLAN, DRAIN, UNCORDON, REBOOT_PLAN, REBOOT, REMOVAL_PLAN, REMOVE)

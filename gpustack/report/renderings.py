"""The results of commands, each declared once for `-o`, its documents and the tables of docs/exit-codes.md."""

from gpustack.exit_status import ExitStatus
from gpustack.report.nodes.renderings import NODE_RENDERINGS
from gpustack.report.remediation.renderings import REMEDIATION_RENDERINGS
from gpustack.report.rendering import Rendering

PLAN = Rendering(
    "rollout.plan:Plan",
    human="human:render_plan",
    json="json:render_plan",
    junit="junit:render_plan",
    schema="plan",
    commands="`gpustack plan`",
)
VERIFICATION = Rendering(
    "rollout.plan:Verification",
    human="human:render_verification",
    json="json:render_verification",
    junit="junit:render_verification",
    schema="verification",
    commands="`gpustack verify`",
)
INSTALL = Rendering(
    "rollout.plan:Outcome",
    human="human:render_outcome",
    json="json:render_outcome",
    junit="junit:render_outcome",
    schema="outcome",
    commands="`gpustack install`",
)
PROOF = Rendering(
    "proof.prove:Proof",
    human="proof.text:render_human",
    json="proof.json:render_json",
    junit="proof.junit:render_junit",
    schema="proof",
    commands="`gpustack prove`",
    meanings={
        ExitStatus.OK: "every GPU that is not in use is proven",
        ExitStatus.FAILED: "the proof was stopped",
        ExitStatus.DIFFERS: "a check of a GPU failed, or pods of the proof are left",
        ExitStatus.UNKNOWN: "unknown: a check could not be evaluated, or all GPUs are in use",
    },
)
DELIVERIES = Rendering(
    "proof.delivery:Deliveries",
    human="proof.delivery:render_human",
    json="proof.delivery:render_json",
    schema="alert-test",
    commands="`gpustack alerts test`",
    meanings={
        ExitStatus.OK: "every receiver got its alerts",
        ExitStatus.DIFFERS: "a receiver did not get an alert",
        ExitStatus.UNKNOWN: "unknown: Alertmanager does not say whether an alert arrived",
    },
)
CAPACITY = Rendering(
    "capacity.state:Capacity",
    human="capacity.text:render_human",
    json="capacity.json:render_json",
    csv="capacity.json:render_csv",
    html="capacity.html:render_html",
    schema="capacity",
    commands="`gpustack capacity report`",
    meanings={ExitStatus.OK: "reported", ExitStatus.UNKNOWN: "unknown: less than 95 % of the time was recorded"},
)
COST = Rendering(
    "cost.bill:Bill",
    human="cost.text:render_human",
    json="cost.json:render_json",
    csv="cost.json:render_csv",
    html="cost.html:render_html",
    schema="cost",
    commands="`gpustack cost report`",
    meanings={**CAPACITY.meanings, ExitStatus.DIFFERS: "above a budget"},
)
ACTIVITY = Rendering(
    "gpus.activity:Activity",
    human="gpus.activity:render_human",
    json="gpus.activity:render_json",
    schema="gpu-activity",
    commands="`gpustack gpu top`",
    meanings={ExitStatus.OK: "listed", ExitStatus.UNKNOWN: "unknown: Prometheus has no metrics of GPUs"},
)
METRICS = Rendering(
    "gpus.series:Metrics",
    human="gpus.metrics:render_human",
    json="gpus.metrics:render_json",
    schema="gpu-metrics",
    commands="`gpustack gpu metrics`",
    meanings={ExitStatus.OK: "listed", ExitStatus.UNKNOWN: "unknown: Prometheus has no metrics of GPUs"},
)
CONTRACT = Rendering(
    "gpus.contract:Contract",
    human="gpus.contract:render_human",
    json="gpus.contract:render_json",
    junit="gpus.contract:render_junit",
    schema="exporter",
    commands="`gpustack gpu check-exporter`",
    meanings={ExitStatus.OK: "nothing of it is wrong", ExitStatus.DIFFERS: "something of it is wrong"},
)
ANALYSIS = Rendering(
    "profile.analysis:Analysis",
    human="profile.text:render_human",
    json="profile.json:render_json",
    html="profile.html:render_html",
    schema="analysis",
    commands="`gpustack profile analyze`",
    meanings={ExitStatus.OK: "a verdict", ExitStatus.UNKNOWN: "unknown: no verdict, as data is missing or contradicts"},
)
COMPARISON = Rendering(
    "profile.compare:Comparison",
    human="profile.comparison:render_human",
    json="profile.comparison:render_json",
    html="profile.html:render_comparison",
    schema="comparison",
    commands="`gpustack profile compare`",
    meanings={
        ExitStatus.OK: "compared",
        ExitStatus.DIFFERS: "a change that --fail-if names",
        ExitStatus.UNKNOWN: "unknown: too little data, other hosts or GPUs, or a change within noise",
    },
)
SUGGESTION = Rendering(
    "autoscale.manifest:Draft",
    human="autoscale.text:render_human",
    json="autoscale.json:render_json",
    schema="autoscale-suggestion",
    commands="`gpustack autoscale suggest`",
    meanings={ExitStatus.OK: "suggested", ExitStatus.UNKNOWN: "unknown: no metric suits, or nothing scales the pod"},
)
FORECAST = Rendering(
    "forecast.pool:Forecast",
    human="forecast.text:render_human",
    json="forecast.json:render_json",
    html="forecast.html:render_html",
    schema="forecast",
    commands="`gpustack capacity forecast`",
    meanings={
        ExitStatus.OK: "enough GPUs for the lead time",
        ExitStatus.DIFFERS: "GPUs are to be ordered now",
        ExitStatus.UNKNOWN: "unknown: a pool has no forecast, or there is no pool",
    },
)
LISTING = Rendering(
    "engines.listings:Listing",
    human="gpus.engines:render_human",
    json="gpus.engines:render_json",
    schema="gpu-engines",
    commands="`gpustack gpu group list`, `policy get`, `policy watch`, `config show`, `profiling list`, `stats show`, "
    "`watch`",
    meanings={ExitStatus.OK: "listed", ExitStatus.UNKNOWN: "unknown: an engine, or its answer, is missing"},
)
CHANGE = Rendering(
    "engines.change:ChangeResult",
    human="gpus.change:render_human",
    json="gpus.change:render_json",
    schema="gpu-change",
    commands="`gpustack gpu group`, `policy`, `config`, `profiling`, `stats` that change",
    meanings={
        ExitStatus.OK: "done",
        ExitStatus.FAILED: "an engine refused it",
        ExitStatus.UNKNOWN: "unknown: an engine gave no answer, or is missing",
    },
)
CHANGE_PREVIEW = Rendering("engines.change:Preview", human="gpus.change:render_preview")
DIAGNOSTIC = Rendering(
    "engines.diagnostic:Diagnostic",
    human="gpus.diagnostic:render_human",
    json="gpus.diagnostic:render_json",
    junit="gpus.diagnostic:render_junit",
    schema="gpu-diag",
    commands="`gpustack gpu diag`",
    meanings={
        ExitStatus.OK: "every node passed, no test failed",
        ExitStatus.DIFFERS: "a test failed",
        ExitStatus.UNKNOWN: "unknown: a node gave no result, a test was not run, or nothing passed",
    },
)
BURN = Rendering(
    "burn.judge:Burn",
    human="gpus.burn:render_human",
    json="gpus.burn:render_json",
    schema="gpu-burn",
    commands="`gpustack gpu burn`",
    meanings={
        ExitStatus.OK: "every GPU passed",
        ExitStatus.DIFFERS: "a GPU failed, or is no longer offered",
        ExitStatus.UNKNOWN: "unknown: what a GPU reached, or how it was, is not known",
    },
)
FLEET = Rendering(
    "gpus.fleet:Fleet",
    human="gpus.text:render_human",
    json="gpus.json:render_json",
    csv="gpus.json:render_csv",
    schema="gpus",
    commands="`gpustack gpu list`",
    meanings={ExitStatus.OK: "listed", ExitStatus.UNKNOWN: "unknown: Prometheus has no metrics of GPUs"},
)
HEALTH = Rendering(
    "health.fleet:Health",
    human="health.text:render_human",
    json="health.json:render_json",
    schema="gpu-health",
    commands="`gpustack gpu health`",
    meanings={
        ExitStatus.OK: "every GPU is ok, or to be watched",
        ExitStatus.DIFFERS: "a program, a GPU or a host has to be started again, reset or replaced",
        ExitStatus.UNKNOWN: "unknown: the health of a GPU, or Prometheus has no metrics of GPUs",
    },
)
DIAGNOSIS = Rendering(
    "doctor.finding:Diagnosis",
    human="doctor.text:render_human",
    json="doctor.json:render_json",
    junit="doctor.junit:render_junit",
    html="doctor.html:render_html",
    page="one file for a ticket",
    schema="doctor",
    commands="`gpustack doctor`",
    meanings={
        ExitStatus.OK: "nothing is broken and nothing differs from the spec; there may be risks and notes",
        ExitStatus.DIFFERS: "something is broken or differs from the spec; with --strict, a risk or note, too",
        ExitStatus.UNKNOWN: "unknown: some checks could not be evaluated, or a host is still starting",
    },
)
FIX_OFFER = Rendering("remedy.offer:Offer", human="fix.text:render_offer")
FIX = Rendering(
    "remedy.fix_result:FixResult",
    human="fix.text:render_fix",
    json="fix.json:render_json",
    schema="fix",
    commands="`gpustack doctor --fix`",
    meanings={
        **DIAGNOSIS.meanings,
        ExitStatus.FAILED: "a playbook failed, or the fix was stopped",
        ExitStatus.INCOMPLETE: "a fix did not resolve its fault and was rolled back",
    },
)
LAST_FIX = Rendering("remedy.undo:LastFix", human="fix.text:render_last_fix")
UNDO = Rendering(
    "remedy.undo:Rollback",
    human="fix.text:render_rollback",
    json="fix.json:render_rollback",
    schema="undo",
    commands="`gpustack doctor --undo`",
    meanings={ExitStatus.OK: "the last fix was rolled back"},
)
REMOVAL = Rendering("rollout.removal:Removal", human="removal.text:render_removal")
RESET = Rendering(
    "rollout.reset:ResetOutcome",
    human="removal.text:render_outcome",
    json="removal.json:render_json",
    schema="reset",
    commands="`gpustack reset`",
    meanings={
        ExitStatus.OK: "nothing of gpustack is left",
        ExitStatus.FAILED: "the playbook failed, or the reset was stopped",
        ExitStatus.INCOMPLETE: "something of gpustack is left",
        ExitStatus.UNKNOWN: "unknown: what is left on a host",
    },
)
STATUS = Rendering(
    "rollout.status:Status",
    human="status.text:render_human",
    json="status.json:render_json",
    schema="status",
    commands="`gpustack status`",
    meanings={ExitStatus.OK: "shown", ExitStatus.UNKNOWN: "unknown: a host or a value was not seen"},
)
VERSIONS = Rendering(
    "config.program_versions:ProgramVersions",
    human="version:render_human",
    json="version:render_json",
    schema="version",
    commands="`gpustack version`",
    meanings={ExitStatus.OK: "shown"},
)
VALID_INVENTORY = Rendering(
    "config.validity:ValidInventory",
    human="validity:render_human",
    json="validity:render_json",
    schema="valid-inventory",
    commands="`gpustack config validate`",
    meanings={ExitStatus.OK: "the inventory and its spec are valid"},
)
ERROR = Rendering(
    "errors:GpustackError",
    human="error:render_error",
    json="error_document:render_json",
    junit="error_document:render_junit",
    schema="error",
    commands="any of them that fails before it has a result",
)
DEFINITIONS = (*globals().values(), *NODE_RENDERINGS, *REMEDIATION_RENDERINGS)
RENDERINGS = {value.type: value for value in DEFINITIONS if isinstance(value, Rendering)}

"""Recording rules of the daily diagnostic of the step care, from the Jobs that kube-state-metrics tells of."""

from collections.abc import Mapping

from gpustack.vocabulary.care_jobs import PREFIX
from scripts.values.normalise import Rule

JOBS, NODE_OF_JOB = f'job_name=~"{PREFIX}.+"', f'"node", "$1", "job_name", "{PREFIX}(.+)-[0-9]+"'
CRON_JOBS, NODE_OF_CRON_JOB = f'cronjob=~"{PREFIX}.+"', f'"node", "$1", "cronjob", "{PREFIX}(.+)"'
FAILED_JOB = f'kube_job_failed{{condition="true",{JOBS}}} == 1'
# kube-state-metrics v2.20.0, internal/store/job.go: a reason that it does not know, such as PodFailurePolicy, is empty.
# A Job that got no pod has one value of 0, whatever its reason.
BY_POLICY = f'kube_job_status_failed{{reason="",{JOBS}}} > 0'
NO_IDLE_GPU = f'kube_job_status_failed{{reason="DeadlineExceeded",{JOBS}}} > 0'
ON_JOB = "on (namespace, job_name)"
CONDITIONS: Mapping[str, str] = {
    "passed": f'and {ON_JOB} kube_job_complete{{condition="true",{JOBS}}} == 1',
    "failed": f"and {ON_JOB} {FAILED_JOB}\n    and {ON_JOB} {BY_POLICY}",
    "skipped": f"and {ON_JOB} {FAILED_JOB}\n    and {ON_JOB} {NO_IDLE_GPU}",
    "unknown": f"and {ON_JOB} {FAILED_JOB}\n    unless {ON_JOB} {BY_POLICY}\n    unless {ON_JOB} {NO_IDLE_GPU}",
}
RUN = "gpustack:node_care_start:seconds"


def build_care_rules() -> list[Rule]:
    runs = [
        Rule(
            RUN,
            "max by (node) (\n  label_replace(\n"
            f"    kube_job_status_start_time{{{JOBS}}}\n    {condition},\n    {NODE_OF_JOB}\n  )\n)",
            {"result": result},
            comment="Unix time at which the newest diagnostic with this result began." if result == "passed" else "",
        )
        for result, condition in CONDITIONS.items()
    ]
    newest = Rule(
        "gpustack:node_care_result:info",
        f"(\n  {RUN}\n  == on (node) group_left ()\n  max by (node) ({RUN})\n) * 0 + 1",
        comment="Always 1: the result of the newest diagnostic of a node.",
    )
    age = Rule(
        "gpustack:node_care_age:seconds",
        "time() - max by (node) (\n  label_replace(\n"
        f"    kube_cronjob_status_last_successful_time{{{CRON_JOBS}}}\n    or kube_cronjob_created{{{CRON_JOBS}}},\n"
        f"    {NODE_OF_CRON_JOB}\n  )\n)",
        comment="Since the diagnostic of a node passed last, or since there is one.",
    )
    return [*runs, newest, age]

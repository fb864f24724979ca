"""Recording rules for alerts about use: owners of Xids, GPUs of a job side by side, idle power of a model."""

from scripts.values.normalise import SMALL, Rule, group_by_workload, normalize_metric, pad_lines, replace_label

# Owners of pods that share one task. Replicas of a service do not: each has its own requests.
JOBS = 'owner_kind=~".*Job",owner_is_controller="true"'
JOB = "workload_namespace, job_name, modelName, signal"
IDLE_POWER_OF_HALF_HOURS = "gpustack:model_idle_power:min30m"
POD_GPUS = '{workload_pod!="",GPU_I_ID=""}'
# Whole GPUs that a pod has, means of ten minutes. A clock says something of a busy GPU only.
SIGNALS = {
    "tensor": f"avg_over_time(gpustack:gpu_tensor_active:ratio{POD_GPUS}[10m])",
    "dram": f"avg_over_time(gpustack:gpu_dram_active:ratio{POD_GPUS}[10m])",
    "sm_clock": f"(avg_over_time(gpustack:gpu_active:ratio{POD_GPUS}[10m]) > 0.2) * 0\n"
    "+ on (node, UUID) group_left ()\n"
    'max by (node, UUID) (avg_over_time(gpustack:gpu_sm_clock:hertz{GPU_I_ID=""}[10m]))',
}


def group_by_pod(expr: str) -> str:
    return replace_label(replace_label(expr, "workload_namespace", "namespace"), "workload_pod", "pod")


def build_pod_rules() -> list[Rule]:
    current_counts, earlier_counts = "gpustack:gpu_xid_errors:count5m", "gpustack:gpu_xid_errors:count5m offset 1m"
    error_counts = group_by_workload(normalize_metric('DCGM_EXP_XID_ERRORS_COUNT{xid!~"0?"}', SMALL), "xid")
    owner = group_by_pod(f"kube_pod_owner{{{JOBS}}}")
    killed_pods = group_by_pod('kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}')
    return [
        Rule(
            "gpustack:gpu_xid_begun:count5m",
            f"{error_counts}\nand on (node, UUID, GPU_I_ID, xid) (\n"
            f"  {current_counts} > {earlier_counts}\n  or\n  {current_counts} > 0 unless {earlier_counts} > 0\n)",
            comment="In its first minute, when the pod beside it still is that which had it.",
        ),
        Rule(
            "gpustack:pod_job:info",
            "max by (workload_namespace, workload_pod, job_name) (\n"
            f"{pad_lines(replace_label(owner, 'job_name', 'owner_name'))}\n)",
        ),
        Rule(
            "gpustack:pod_oom_killed:bool", f"max by (workload_namespace, workload_pod) (\n{pad_lines(killed_pods)}\n)"
        ),
    ]


def build_job_rules() -> list[Rule]:
    return [
        *(Rule("gpustack:gpu_job_signal:mean10m", join_job(expr), {"signal": name}) for name, expr in SIGNALS.items()),
        Rule("gpustack:job_gpus:count", f"count by ({JOB}) (gpustack:gpu_job_signal:mean10m)"),
        Rule(
            "gpustack:job_signal:median",
            f"quantile by ({JOB}) (0.5, gpustack:gpu_job_signal:mean10m) > 0.05",
            comment="Of GPUs of one model. Where next to nothing is done, shares of it say nothing.",
        ),
        Rule(
            "gpustack:gpu_job_deviation:ratio",
            f"gpustack:gpu_job_signal:mean10m / on ({JOB}) group_left () gpustack:job_signal:median - 1",
            comment="Share of the median by which a GPU is above or below it.",
        ),
        Rule(
            "gpustack:job_deviation:median",
            f"quantile by ({JOB}) (0.5, abs(gpustack:gpu_job_deviation:ratio))",
            comment="Median absolute deviation: how far apart GPUs of this job usually are.",
        ),
    ]


def join_job(expr: str) -> str:
    """Join the name of the job; a pod without one is a job of its own."""
    lone_pods = replace_label(
        f"{expr}\nunless on (workload_namespace, workload_pod) gpustack:pod_job:info", "job_name", "workload_pod"
    )
    return (
        f"(\n{pad_lines(expr)}\n)\n"
        "* on (workload_namespace, workload_pod) group_left (job_name) gpustack:pod_job:info\n"
        f"or\n{lone_pods}"
    )


def build_half_hour_rules() -> list[Rule]:
    return [
        Rule(
            "gpustack:gpu_profiled:max30m",
            "max by (node, UUID, modelName) (\n  present_over_time(gpustack:gpu_sm_active:ratio[30m])\n)",
            comment="GPUs, or their MIG instances, that had profiling fields within half an hour.",
        ),
        Rule(
            IDLE_POWER_OF_HALF_HOURS,
            'min by (modelName) (\n  min_over_time(gpustack:gpu_power:watts{modelName!=""}[30m])\n)',
        ),
    ]


def build_day_rules() -> list[Rule]:
    return [
        Rule(
            "gpustack:model_idle_power:watts",
            'min by (modelName) (\n  min_over_time(gpustack:gpu_power:watts{modelName!=""}[30m])\n'
            f"  or\n  min_over_time({IDLE_POWER_OF_HALF_HOURS}[1d])\n)",
            comment="The least that a GPU of this model drew within a day.",
        ),
    ]

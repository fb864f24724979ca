"""The metrics that `gpustack doctor --metrics` writes, with the meaning of each."""

DOCTOR_METRICS = {
    "gpustack_finding": "A root cause that the doctor confirmed.",
    "gpustack_unexplained": "A symptom without a confirmed cause.",
    "gpustack_doctor_findings": "Root causes, each on each host.",
    "gpustack_doctor_drift": "Differences from the spec without a known fault.",
    "gpustack_doctor_unknown_checks": "Checks that could not be evaluated.",
    "gpustack_doctor_healthy": "1 if nothing is broken or differs, and no check is unknown.",
    "gpustack_doctor_duration_seconds": "Seconds that the probes took.",
    "gpustack_doctor_last_run_timestamp_seconds": "Time at which the hosts were asked, in seconds since 1970.",
}

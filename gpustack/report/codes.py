"""Meanings of exit statuses in the words of the commands that give them others than gpustack/exit_status.py."""

# A diagnosis gives the same numbers other meanings.
DIAGNOSIS_MEANINGS = {
    0: "healthy",
    1: "a root cause was found, or something differs from the spec",
    8: "unknown: a symptom without a confirmed cause, or some checks could not be evaluated",
}
# A fix ends with a diagnosis.
FIX_MEANINGS = DIAGNOSIS_MEANINGS | {
    5: "a playbook failed, or the fix was stopped",
    6: "a fix did not resolve its fault and was rolled back",
    130: "interrupted",
}
# Listings of GPUs and of what host engines have, and changes through host engines.
LISTING_MEANINGS = {0: "listed", 8: "unknown: an engine, or its answer, is missing"}
CHANGE_MEANINGS = {
    0: "done",
    5: "an engine refused it",
    8: "unknown: an engine gave no answer, or is missing",
    130: "interrupted",
}
# `gpustack gpu check-exporter`.
CONTRACT_MEANINGS = {0: "nothing of it is wrong", 1: "something of it is wrong"}
# `gpustack profile analyze`.
ANALYSIS_MEANINGS = {0: "a verdict", 8: "unknown: too little data for a verdict"}
# `gpustack autoscale suggest`.
SUGGESTION_MEANINGS = {0: "suggested", 8: "unknown: no metric suits"}
COMPARISON_MEANINGS = {
    0: "compared",
    1: "a change that --fail-if names",
    8: "unknown: too little data, another machine, or a change of --fail-if that cannot be told from noise",
}
# Reports of GPU-hours and of their costs.
CAPACITY_MEANINGS = {0: "reported", 8: "unknown: less than 95 % of the time was recorded"}
COST_MEANINGS = CAPACITY_MEANINGS | {1: "above a budget"}
# `gpustack capacity forecast`.
FORECAST_MEANINGS = {
    0: "enough GPUs for the lead time",
    1: "GPUs are to be ordered now",
    8: "unknown: a pool has no forecast",
}
DIAGNOSTIC_MEANINGS = {
    0: "every node passed, no test failed",
    1: "a test failed",
    8: "unknown: a node gave no result, a test was not run, or nothing passed",
    130: "interrupted",
}
BURN_MEANINGS = {
    0: "every GPU passed",
    1: "a GPU failed, or is no longer offered",
    8: "unknown: what a GPU reached, or how it was, is not known",
    130: "interrupted",
}

"""`gpustack profile`: record, judge and compare what GPUs do for a workload."""

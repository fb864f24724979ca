"""The commands `gpustack profile`, which record, analyze and compare the metrics of GPUs."""

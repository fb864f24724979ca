"""The commands `gpustack cost`, which report the cost of GPUs."""

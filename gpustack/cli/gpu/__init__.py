"""The commands `gpustack gpu`, which list, watch, test and change the GPUs of a cluster."""

"""`gpustack gpu`: the GPUs of a cluster, as its Prometheus has them."""

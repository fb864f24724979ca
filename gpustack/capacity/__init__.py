"""GPU-hours from recorded series: GPUs that are offered, requested, allocated and active."""

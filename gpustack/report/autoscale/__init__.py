"""Output of `gpustack autoscale`."""

"""Output of `gpustack profile`."""

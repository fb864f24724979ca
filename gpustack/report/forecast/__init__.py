"""Output of `gpustack capacity forecast`."""

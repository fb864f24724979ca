"""Output of `gpustack gpu`."""

"""What `gpustack profile` prints."""

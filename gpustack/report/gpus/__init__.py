"""What `gpustack gpu` prints."""

"""What `gpustack capacity forecast` prints."""

"""What `gpustack autoscale` prints."""

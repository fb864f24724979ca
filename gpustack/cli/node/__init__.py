"""The commands `gpustack node`, which drain, uncordon and reboot nodes."""

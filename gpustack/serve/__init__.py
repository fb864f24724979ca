"""An HTTP server (`gpustack serve`) for the values of GPUs and their pods, read by autoscalers and scripts. It
changes nothing."""

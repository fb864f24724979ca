"""`gpustack serve`: what GPUs and their pods do, over HTTP, for autoscalers and scripts. It changes nothing."""

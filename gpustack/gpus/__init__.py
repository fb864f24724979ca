"""GPUs as people ask for them: which there are, what they do, how they are. Any Prometheus will do."""

"""What bounds a workload on GPUs: windows of metrics in, a verdict with its numbers, doubts and advice out."""

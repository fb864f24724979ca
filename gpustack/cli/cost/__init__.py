"""`gpustack cost`: what GPUs cost, and whom."""

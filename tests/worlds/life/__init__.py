"""A GPU cluster's life of weeks, made from mechanisms: `draw.draw(seed)`. It imports nothing of gpustack."""

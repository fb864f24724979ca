"""`gpu burn` loads GPUs with DCGM's load generator, and judges the values that they reach under it."""

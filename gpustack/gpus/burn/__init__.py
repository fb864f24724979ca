"""`gpu burn`: what DCGM's load generator puts on GPUs, what they reach under it, and whether that is enough."""

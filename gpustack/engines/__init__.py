"""DCGM's host engines of a cluster: their answers, and the one module that changes GPUs through them."""

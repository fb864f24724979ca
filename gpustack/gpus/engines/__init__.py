"""DCGM's host engines of a cluster: which there are, what they answer, and the one place that acts through them."""

"""Renderings of the health of GPUs."""

"""Writes docs/rights.md: what every program that gpustack brings into a cluster may do."""

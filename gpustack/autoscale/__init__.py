"""Metrics by which a workload is scaled, and the ScaledObject for it."""

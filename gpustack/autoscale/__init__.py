"""By which metric a workload is scaled, and the ScaledObject for it."""

"""The proof that GPUs work and are monitored, by pods that run a kernel, series by UUID, and the query of a panel."""

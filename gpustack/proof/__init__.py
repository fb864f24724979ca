"""The proof that GPUs work and are seen: pods that run a kernel, series by UUID, values as a panel asks for them."""

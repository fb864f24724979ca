"""The names of the Leases that tell when a node was last proven: this prefix, and the node's. Rules read them."""

PREFIX = "gpustack-proof-"

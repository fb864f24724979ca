"""The Leases that tell when a node was last proven. Their names are this prefix and the node's. Rules read them."""

PREFIX = "gpustack-proof-"
MARGIN_SECONDS = 120
"""The clocks of a host and of the machine that ran the proof may differ by so much: a boot that is later than the proof
by less may be the one before it."""

"""Stand-ins for GPU silicon and for vendors' software in a lab. Everything in this package is simulated, and says
so."""

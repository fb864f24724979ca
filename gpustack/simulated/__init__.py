"""What stands in for GPU silicon and for vendors' software in a lab. Everything here is simulated, and says so."""

"""Lab hosts with simulated GPUs, and the bundles that they install from."""

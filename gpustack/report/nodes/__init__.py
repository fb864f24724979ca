"""Reports of operations on nodes."""

"""A recording of a large cluster, made of recorded answers."""

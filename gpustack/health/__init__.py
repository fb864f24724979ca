"""Verdicts on the health of GPUs and nodes from several sources, none of which is enough alone."""

"""Verdicts on workloads: windows of metrics are judged, with numbers, doubts and advice."""

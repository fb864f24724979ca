"""Diagnosis: the root causes that explain the answers of the hosts, with evidence and a fix."""

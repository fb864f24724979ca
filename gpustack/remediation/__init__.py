"""Remediation of nodes with unwell GPUs: a ladder, of which a person takes one rung at a time behind guard rails."""

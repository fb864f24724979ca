"""Costs of GPUs as text, JSON, CSV and HTML."""

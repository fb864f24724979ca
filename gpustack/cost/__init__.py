"""Costs of GPU-hours, to the cent."""

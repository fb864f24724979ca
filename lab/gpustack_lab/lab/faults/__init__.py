"""Faults that a lab can be given: each breaks something as it breaks in the field, and is undone again."""

"""Remedies: the fix of a root cause, and its roll-back. The diagnosis does not depend on this package."""

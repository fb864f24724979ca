"""What a machine may do about a root cause, and how to undo it. Judging knows nothing of it."""

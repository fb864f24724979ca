"""What a machine may do about a root cause, and the way back. Judging knows nothing of it."""

"""When a pool of GPUs is full: demand of the past, models of it, and paths into the future. No library but Python's."""

"""Hours of GPUs as text, JSON, CSV and HTML."""

"""GPU-hours as text, JSON, CSV and HTML."""

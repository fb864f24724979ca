"""What GPUs cost, as text, JSON, CSV and HTML."""

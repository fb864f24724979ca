"""What GPUs there are, who asked for them, who has them, and what they do: hours of GPUs out of recorded series."""

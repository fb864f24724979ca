"""What GPUs measure of themselves: DCGM's fields and the driver's error codes, in one vocabulary."""

"""What hours of GPUs cost, to the cent."""

"""The doctor: which one thing is wrong, told from what the hosts answered, with its evidence and what mends it."""

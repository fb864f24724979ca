"""The doctor: which one thing is wrong by what the hosts answered, with its evidence and its fix."""

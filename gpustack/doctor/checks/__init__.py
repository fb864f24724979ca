"""One check per fault, state, guard and conditional edge, in a module per layer or less; found by being here."""

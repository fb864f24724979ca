"""Conditions of edges from a fault that harms nothing by itself: what shows that it explains what does not work. Each
reads the words of the program that suffers, or what the host has otherwise. Without it the fault is a likely cause."""

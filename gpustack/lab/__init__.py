"""Throw-away hosts that are real: systemd-nspawn machines with systemd, sshd and apt. lab.py says how to use it."""

from gpustack.lab.lab import Gpu, Host, Lab, Mirror, Source, down, find, inventory_path, up

__all__ = ["Gpu", "Host", "Lab", "Mirror", "Source", "down", "find", "inventory_path", "up"]

"""Throw-away hosts: systemd-nspawn machines with systemd, sshd and apt. lab.py has an example."""

from gpustack_lab.lab.lab import Lab, Mirror, create_lab, find_lab, locate_inventory, remove_lab, start_lab, stop_lab

__all__ = ["Lab", "Mirror", "create_lab", "find_lab", "locate_inventory", "remove_lab", "start_lab", "stop_lab"]

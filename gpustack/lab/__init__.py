"""Throw-away hosts: systemd-nspawn machines with systemd, sshd and apt. lab.py has an example."""

from gpustack.lab.lab import (
    Gpu,
    Host,
    Lab,
    Mirror,
    Source,
    create_lab,
    find_lab,
    locate_inventory,
    remove_lab,
    start_lab,
    stop_lab,
)

__all__ = [
    "Gpu",
    "Host",
    "Lab",
    "Mirror",
    "Source",
    "create_lab",
    "find_lab",
    "locate_inventory",
    "remove_lab",
    "start_lab",
    "stop_lab",
]

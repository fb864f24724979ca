"""Throw-away hosts that are real: systemd-nspawn machines with systemd, sshd and apt on a bridge of their own.

    lab = gpustack.lab.up(releases=["debian-12", "debian-13"])
    lab.exec("host1", ["sudo", "apt-get", "update"])
    lab.save("clean"); lab.restore("clean"); lab.down()

What leaves this room is an ordinary inventory (`inventory_path`); no step, probe or role knows that a host is a lab host.
"""

from gpustack.lab.inventory import inventory_path
from gpustack.lab.lab import Lab, down, find, up
from gpustack.lab.state import Host, Source
from gpustack.lab.up import Mirror

__all__ = ["Host", "Lab", "Mirror", "Source", "down", "find", "inventory_path", "up"]

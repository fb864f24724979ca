"""A program that ends in the middle of its work."""

import subprocess

from gpustack_lab import lab


def kill_program(two: lab.Lab, program: str, trigger: str) -> "subprocess.CompletedProcess[str]":
    """Kill a program on host1 as soon as a file is there. Wait for that five minutes at most."""
    script = (
        f"for i in $(seq 3000); do if [ -e {trigger} ] && pid=$(pidof -s {program}); then kill -9 $pid; exit 0; fi; "
        "timeout 0.1 tail -f /dev/null; done; exit 1"
    )
    return two.exec("host1", ["sudo", "sh", "-c", script])

"""A program that ends in the middle of its work."""

import subprocess

from gpustack_lab import lab


def killed(two: lab.Lab, program: str, once: str) -> "subprocess.CompletedProcess[str]":
    """Kills a program on host1 as soon as a file is there; waits for that five minutes at most."""
    script = (
        f"for i in $(seq 3000); do if [ -e {once} ] && pid=$(pidof -s {program}); then kill -9 $pid; exit 0; fi; "
        "timeout 0.1 tail -f /dev/null; done; exit 1"
    )
    return two.exec("host1", ["sudo", "sh", "-c", script])

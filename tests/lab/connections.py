"""SSH connections that stay open while firewalls change."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from gpustack_lab import lab


@contextmanager
def open_connection(running_lab: lab.Lab) -> Iterator[Callable[[], None]]:
    """Open SSH connections that stay open meanwhile. The value asserts that each of them still answers."""
    with ExitStack() as stack:
        contexts = [
            stack.enter_context(
                subprocess.Popen(
                    [*running_lab.build_ssh_command(host.name), "-o", "ControlPath=none", "cat"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for host in running_lab.hosts
        ]

        def assert_alive() -> None:
            for context in contexts:
                assert context.stdin
                assert context.stdout
                context.stdin.write("still here\n")
                context.stdin.flush()
                assert context.stdout.readline() == "still here\n"

        try:
            assert_alive()
            yield assert_alive
        finally:
            for context in contexts:
                context.terminate()

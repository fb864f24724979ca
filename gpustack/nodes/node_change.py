"""Changes of a node through the API, by kubectl on the acting control plane."""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack.config.host import Host
from gpustack.engines.call import LIMIT, Run, run_command
from gpustack.errors import RolloutError
from gpustack.probes.kubernetes.node_records import NodeRecord

ATTEMPTS = 4
"""The kubelet changes the status of its node as well, so that a change of it is tried again with a newer version."""
CONFLICT = "(Conflict)"


@dataclass(frozen=True)
class NodeWriter:
    """Write to the API. `via` is the control plane, `execute` runs a script there, and `author` is who does so."""

    via: Host
    execute: Run
    author: str = ""

    def change_node(self, name: str, read: Callable[[], NodeRecord], build: Callable[[NodeRecord], str]) -> NodeRecord:
        """Change a node by the command that is built for its version, and return what was read of it. Raise
        RolloutError where the API refuses, and the errors of `read`, which may object to what it reads."""
        attempts = 0
        while True:
            node, attempts = read(), attempts + 1
            reply = run_command(name, self.via, build(node), execute=self.execute)
            if not reply.fault:
                return node
            if CONFLICT not in reply.stderr or attempts == ATTEMPTS:
                raise RolloutError("node-change-refused", f"The node {name} was not changed.", reply.fault)

    def run(self, name: str, script: str, limit: float = LIMIT, via: Host | None = None) -> tuple[str, str]:
        """Run a script on the control plane, or on another host. Return its output, and why it has none."""
        reply = run_command(name, via or self.via, script, limit, self.execute)
        return reply.stdout, reply.fault

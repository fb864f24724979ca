"""Changes of a node through the API, by kubectl on the acting control plane."""

from dataclasses import dataclass

from gpustack.config.host import Host
from gpustack.engines.call import Run, run_command
from gpustack.errors import RolloutError


@dataclass(frozen=True)
class NodeWriter:
    """Write to the API. `via` is the control plane, `execute` runs a script there, and `author` is who does so."""

    via: Host
    execute: Run
    author: str = ""

    def change_node(self, name: str, command: str) -> None:
        """Change a node. Raise RolloutError where the API refuses, also because somebody changed the node meanwhile."""
        reply = run_command(name, self.via, command, execute=self.execute)
        if reply.fault:
            raise RolloutError("node-change-refused", f"The node {name} was not changed.", reply.fault)

    def run(self, name: str, script: str, limit: float) -> tuple[str, str]:
        """Run a script. Return its output, and why it has none."""
        reply = run_command(name, self.via, script, limit, self.execute)
        return reply.stdout, reply.fault

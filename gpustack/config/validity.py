"""An inventory that was found valid: `gpustack config validate`."""

from dataclasses import dataclass
from pathlib import Path

from gpustack.config.addresses import is_example
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory


@dataclass(frozen=True)
class ValidInventory:
    """Hold a valid inventory. `notes` say what is valid, and cannot work."""

    inventory: Inventory

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(self.inventory.hosts)

    @property
    def source(self) -> Path | None:
        return self.inventory.source

    @property
    def notes(self) -> tuple[str, ...]:
        examples = ", ".join(host.name for host in self.hosts if is_example(host.address))
        return (f"the addresses of {examples} are those of an example; no host has them",) if examples else ()

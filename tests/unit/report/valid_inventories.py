"""Valid inventories, and how they are rendered."""

from gpustack.config.validity import ValidInventory
from gpustack.report import validity
from tests.unit.report.screen import print_screen
from tests.worlds.results.proofs import INVENTORY

VALID = ValidInventory(INVENTORY)
RENDERINGS = {
    "valid-inventory.txt": lambda: print_screen(lambda screen: validity.render_human(screen, VALID)),
    "valid-inventory.json": lambda: validity.render_json(VALID),
}

"""Dashboards: GPU metrics in Grafana, in a folder of their own.

Each is a ConfigMap with the label that Grafana's sidecar looks for, and the folder as an annotation. They use the data
source with the uid `prometheus`, which the step monitoring creates; no second one is created. A dashboard that you edit
in Grafana is saved under another name: ours stay unchanged, and are updated with each release of gpustack.

Settings: dashboards. Sources: the Grafana chart's documentation of sidecar.dashboards; values/dashboards.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import values
from gpustack.probes.kubernetes.applied import CONFIG_MAPS
from gpustack.steps.applied import Object, differing, stamped
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.step import Step


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and inventory.spec.dashboards.enabled and control_planes(inventory, host)


@cache
def texts() -> Mapping[str, str]:
    """The JSON of our dashboards, by file name without suffix."""
    return {path.stem: path.read_text() for path in sorted((values() / "dashboards").glob("*.json"))}


def objects(here: View) -> list[Object]:
    """A ConfigMap for each."""
    more = {
        "labels": {"grafana_dashboard": "1"},
        "annotations": {"grafana_folder": here.spec.dashboards.folder},
    }
    space = here.spec.monitoring.namespace
    return [
        stamped("ConfigMap", "v1", space, f"gpustack-dashboard-{name}", more, {"data": {f"{name}.json": text}})
        for name, text in texts().items()
    ]


def wanted(here: View) -> dict[str, Any]:
    return {"objects": objects(here)}


def config_maps(here: View) -> Result | None:
    """The ConfigMaps of our dashboards exist and match this release."""
    return differing("dashboards", objects(here), here[CONFIG_MAPS])


STEP = Step(
    "dashboards",
    scope="cluster",
    probes=(CONFIG_MAPS,),
    checks=(config_maps,),
    needs=("monitoring",),
    settle=60,
    applies=applies,
)

"""Dashboards: GPU metrics in Grafana, in a folder of their own, and the dashboards that the spec names.

Each is a ConfigMap with the label that Grafana's sidecar looks for, and the folder as an annotation. They use the data
source with the uid `prometheus`, which the step monitoring creates; no second one is created. A dashboard that you edit
in Grafana is saved under another name: ours stay unchanged, and are updated with each release of gpustack; yours
(`dashboards.files`) follow their files. One that is no longer wanted is removed.

Settings: dashboards. Sources: the Grafana chart's documentation of sidecar.dashboards; values/dashboards.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from gpustack.ask.judge import Result, as_text
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import values
from gpustack.probes.kubernetes.applied import CONFIG_MAPS
from gpustack.steps.applied import Object, differing, stamped
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.step import Step

PREFIX = "gpustack-dashboard-"
OWN = "own-"
"""Begins the names of the operator's."""


def applies(inventory: Inventory, host: Host) -> bool:
    wanted = inventory.spec.dashboards.enabled or bool(inventory.spec.dashboards.files)
    return inventory.spec.monitoring.enabled and wanted and control_planes(inventory, host)


@cache
def texts() -> Mapping[str, str]:
    """The JSON of our dashboards, by file name without suffix."""
    return {path.stem: path.read_text() for path in sorted((values() / "dashboards").glob("*.json"))}


def ours(here: View) -> list[Object]:
    """A ConfigMap for each."""
    return config_maps_of(here, texts()) if here.spec.dashboards.enabled else []


def own(here: View) -> list[Object]:
    """Those of the spec. Raises FactUnavailable in a recording, which has no files."""
    given = here.snapshot.inventory.dashboards
    if here.spec.dashboards.files and not given:
        raise FactUnavailable("a recording has no files of dashboards")
    return config_maps_of(here, {f"{OWN}{board.name}": board.text for board in given})


def config_maps_of(here: View, found: Mapping[str, str]) -> list[Object]:
    more = {
        "labels": {"grafana_dashboard": "1"},
        "annotations": {"grafana_folder": here.spec.dashboards.folder},
    }
    space = here.spec.monitoring.namespace
    return [
        stamped("ConfigMap", "v1", space, f"{PREFIX}{name}", more, {"data": {f"{name}.json": text}})
        for name, text in found.items()
    ]


def unwanted(here: View) -> list[str]:
    """Names of ConfigMaps of this step that belong to no dashboard of this release and spec."""
    known = {one["metadata"]["name"] for one in [*ours(here), *own(here)]}
    space = here.spec.monitoring.namespace
    names = (key.partition("/")[2] for key in here[CONFIG_MAPS] or () if key.startswith(f"{space}/{PREFIX}"))
    return sorted(set(names) - known)


def wanted(here: View) -> dict[str, Any]:
    """`dropped` are to be deleted: those that are known of, as KIND NAMESPACE NAME."""
    dropped: list[str] = []
    space = here.spec.monitoring.namespace
    with suppress(FactUnavailable):
        dropped = [f"ConfigMap {space} {name}" for name in unwanted(here)]
    return {"objects": [*ours(here), *own(here)], "dropped": dropped}


def config_maps(here: View) -> Result | None:
    """The ConfigMaps of our dashboards exist and match this release."""
    return differing("dashboards", ours(here), here[CONFIG_MAPS])


def own_config_maps(here: View) -> Result | None:
    """The ConfigMaps of the dashboards that dashboards.files names exist and match the files."""
    return differing("dashboards of dashboards.files", own(here), here[CONFIG_MAPS])


def no_others(here: View) -> Result | None:
    """No dashboard is left in the cluster that neither this release nor dashboards.files has."""
    left = unwanted(here)
    return Result("further dashboards of gpustack", "nothing", as_text(left)) if left else None


STEP = Step(
    "dashboards",
    scope="cluster",
    probes=(CONFIG_MAPS,),
    checks=(config_maps, own_config_maps, no_others),
    needs=("monitoring",),
    settle=60,
    applies=applies,
)

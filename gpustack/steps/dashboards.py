"""Dashboards: GPU metrics in Grafana, in a folder of their own, and the dashboards that the spec names.

Each is a ConfigMap with the label that Grafana's sidecar looks for, and the folder as an annotation. They use the data
source with the uid `prometheus`, which the step monitoring creates; no second one is created. A dashboard that you edit
in Grafana is saved under another name, and ends with Grafana's pod, which has no volume: export it to a file of
`dashboards.files` to keep it. Those of gpustack stay unchanged, and are updated with each release; yours follow their
files. One that is no longer wanted is removed.

Settings: dashboards. Sources: the Grafana chart's documentation of sidecar.dashboards; values/dashboards.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.config.resources import locate_shipped_values
from gpustack.probes.kubernetes.applied_objects import CONFIG_MAPS
from gpustack.steps.applied_objects import Object, build_object, find_object_mismatch
from gpustack.steps.step import Step

PREFIX = "gpustack-dashboard-"
CUSTOM_PREFIX = "own-"
"""The names of ConfigMaps for the operator's dashboards begin with this."""


def has_dashboards(inventory: Inventory) -> bool:
    spec = inventory.spec
    return spec.monitoring.enabled and (spec.dashboards.enabled or bool(spec.dashboards.files))


@cache
def read_dashboards() -> Mapping[str, str]:
    """Read the JSON of gpustack's dashboards, by file name without suffix."""
    return {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted((locate_shipped_values() / "dashboards").glob("*.json"))
    }


def build_shipped_config_maps(view: View) -> list[Object]:
    """Build a ConfigMap for each dashboard of gpustack."""
    return build_config_maps(view, read_dashboards()) if view.spec.dashboards.enabled else []


def build_custom_config_maps(view: View) -> list[Object]:
    """Build a ConfigMap for each dashboard of the spec. Raise FactUnavailable in a recording, which has no files."""
    custom_dashboards = view.snapshot.inventory.dashboards
    if view.spec.dashboards.files and not custom_dashboards:
        raise FactUnavailable("a recording has no files of dashboards")
    return build_config_maps(view, {f"{CUSTOM_PREFIX}{board.name}": board.text for board in custom_dashboards})


def build_config_maps(view: View, dashboards: Mapping[str, str]) -> list[Object]:
    extra_metadata = {
        "labels": {"grafana_dashboard": "1"},
        "annotations": {"grafana_folder": view.spec.dashboards.folder},
    }
    space = view.spec.monitoring.namespace
    return [
        build_object("ConfigMap", "v1", space, f"{PREFIX}{name}", extra_metadata, {"data": {f"{name}.json": text}})
        for name, text in dashboards.items()
    ]


def find_stale_config_maps(view: View) -> list[str]:
    """Find names of ConfigMaps of this step that belong to no dashboard of this release and spec."""
    expected_names = {
        config_map["metadata"]["name"]
        for config_map in [*build_shipped_config_maps(view), *build_custom_config_maps(view)]
    }
    space = view.spec.monitoring.namespace
    names = (key.partition("/")[2] for key in view[CONFIG_MAPS] or () if key.startswith(f"{space}/{PREFIX}"))
    return sorted(set(names) - expected_names)


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role reads: `objects` are to be applied, `dropped` to be deleted, each as KIND NAMESPACE NAME."""
    removals: list[str] = []
    space = view.spec.monitoring.namespace
    with suppress(FactUnavailable):
        removals = [f"ConfigMap {space} {name}" for name in find_stale_config_maps(view)]
    return {"objects": [*build_shipped_config_maps(view), *build_custom_config_maps(view)], "dropped": removals}


def config_maps(view: View) -> Result | None:
    """The ConfigMaps of gpustack's dashboards exist and match this release."""
    return find_object_mismatch("dashboards", build_shipped_config_maps(view), view[CONFIG_MAPS])


def own_config_maps(view: View) -> Result | None:
    """The ConfigMaps of the dashboards that dashboards.files names exist and match the files."""
    return find_object_mismatch("dashboards of dashboards.files", build_custom_config_maps(view), view[CONFIG_MAPS])


def no_others(view: View) -> Result | None:
    """The cluster has no dashboard left that neither this release nor dashboards.files has."""
    stale_names = find_stale_config_maps(view)
    return Result("further dashboards of gpustack", "nothing", format_value(stale_names)) if stale_names else None


STEP = Step(
    "dashboards",
    scope="cluster",
    probes=(CONFIG_MAPS,),
    checks=(config_maps, own_config_maps, no_others),
    needs=("monitoring",),
    settle_seconds=60,
    is_enabled=has_dashboards,
)

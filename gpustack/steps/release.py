"""A Helm release as expected, and whether the one in the cluster matches.

What is compared is a digest of chart and values that `helm upgrade --labels` stores on the release: so values never
leave the host, and one API read of metadata is enough. Changes made to the objects themselves, without Helm, are
detected by the checks of the objects.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.resolved import pinned
from gpustack.files.json_text import dump_json
from gpustack.probes.helm import RELEASES
from gpustack.probes.helm import Release as Found

LABEL_LENGTH = 40  # a label's value has at most 63 characters, a SHA-256 in hex has 64


@dataclass(frozen=True)
class Release:
    """`chart` is a key of the version set's charts, `values` all that differs from the chart's own. `privileged`: its
    pods may do what Pod Security calls privileged."""

    name: str
    namespace: str
    chart: str
    values: Mapping[str, Any]
    privileged: bool = False

    def digest(self, here: View) -> str:
        """Of chart and values: 40 hex digits."""
        chart = here.versions.charts[self.chart]
        document = dump_json([chart.version, self.namespace, self.values], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(document.encode()).hexdigest()[:LABEL_LENGTH]

    def resolved(self, here: View) -> dict[str, Any]:
        """What the role reads."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            **pinned(here.spec, here.versions.charts[self.chart]),
            "digest": self.digest(here),
            "privileged": self.privileged,
            "values": dict(self.values),
        }


def compared(here: View, wanted: Release) -> Result | None:
    """None, or how the release in the cluster differs."""
    what, version = f"release {wanted.namespace}/{wanted.name}", here.versions.charts[wanted.chart].version
    found = in_cluster(here, wanted)
    if found is None:
        return Result(what, f"{wanted.chart} {version}", "nothing")
    if not found.ours:
        rename = Prose(
            "give monitoring.release, gpu.release or autoscaling.release of the spec another name, "
            "or remove that one with helm uninstall"
        )
        return Result(what, "gpustack's", f"not gpustack's, {found.status}", cure="operator", hint=rename)
    if found.chart != version:
        hint = Command("gpustack", "explain", "upgrade-needed")
        return Result(what, f"{wanted.chart} {version}", f"{wanted.chart} {found.chart}", cure="upgrade", hint=hint)
    if found.status != "deployed":
        return Result(what, "deployed", found.status)
    if found.by_hand:
        return Result(
            what, "the last revision of gpustack", f"revision {found.revision}, created by another Helm client"
        )
    if found.digest != wanted.digest(here):
        return Result(what, "the values of the spec", "different values")
    return None


def in_cluster(here: View, wanted: Release) -> Found | None:
    found = (one for one in here[RELEASES] if (one.namespace, one.name) == (wanted.namespace, wanted.name))
    return next(found, None)

"""A Helm release as expected, and its comparison with the one in the cluster.

A digest of chart and values is compared, which `helm upgrade --labels` stores on the release: so values never leave the
host, and one API read of metadata is enough. Where it differs, short digests of the keys say which. Changes made to the
objects themselves, without Helm, are detected by the checks of the objects.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.resolution import build_download
from gpustack.files.json_text import dump_json
from gpustack.probes.helm import RELEASES, VALUES
from gpustack.probes.helm import Release as HelmRelease
from gpustack.steps.release_values import compute_value_digests, describe_value_differences

LABEL_LENGTH = 40  # a label's value has at most 63 characters, a SHA-256 in hex has 64


@dataclass(frozen=True)
class Release:
    """Describe a Helm release. `chart` is a key of the version set's charts, `values` all that differs from the chart's
    own values. `privileged` tells whether its pods may do what Pod Security calls privileged."""

    name: str
    namespace: str
    chart: str
    values: Mapping[str, Any]
    privileged: bool = False

    def compute_digest(self, view: View) -> str:
        """Compute the digest of chart and values: 40 hex digits."""
        chart = view.versions.charts[self.chart]
        document = dump_json([chart.version, self.namespace, self.values], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(document.encode()).hexdigest()[:LABEL_LENGTH]

    def build_variables(self, view: View) -> dict[str, Any]:
        """Build what the role reads."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            **build_download(view.spec, view.versions.charts[self.chart]),
            "digest": self.compute_digest(view),
            "value_labels": [f"{VALUES}{key}={digest}" for key, digest in compute_value_digests(self.values).items()],
            "privileged": self.privileged,
            "values": dict(self.values),
        }


def find_release_mismatch(view: View, expected_release: Release) -> Result | None:
    """Describe how the release in the cluster differs. Return None where it does not."""
    subject, version = (
        f"release {expected_release.namespace}/{expected_release.name}",
        view.versions.charts[expected_release.chart].version,
    )
    actual_release = find_release(view, expected_release)
    if actual_release is None:
        return Result(subject, f"{expected_release.chart} {version}", "nothing")
    if not actual_release.is_managed:
        rename = Prose(
            "give monitoring.release, gpu.release or autoscaling.release of the spec another name, "
            "or remove that one with helm uninstall"
        )
        return Result(subject, "gpustack's", f"not gpustack's, {actual_release.status}", cure="operator", hint=rename)
    if actual_release.chart != version:
        hint = Command("gpustack", "explain", "upgrade-needed")
        return Result(
            subject,
            f"{expected_release.chart} {version}",
            f"{expected_release.chart} {actual_release.chart}",
            cure="upgrade",
            hint=hint,
        )
    if actual_release.status != "deployed":
        return Result(subject, "deployed", actual_release.status)
    if actual_release.by_hand:
        return Result(
            subject,
            "the last revision of gpustack",
            f"revision {actual_release.revision}, created by another Helm client",
        )
    if actual_release.digest != expected_release.compute_digest(view):
        keys = describe_value_differences(expected_release.values, actual_release.value_digests)
        return Result(subject, "the values of the spec", f"different values: {keys}" if keys else "different values")
    return None


def find_release(view: View, expected_release: Release) -> HelmRelease | None:
    releases = (
        release
        for release in view[RELEASES]
        if (release.namespace, release.name) == (expected_release.namespace, expected_release.name)
    )
    return next(releases, None)

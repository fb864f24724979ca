"""CRDs of the Prometheus operator: one file each, from the API versions that need no webhook."""

from pathlib import Path

import pytest
import yaml

from gpustack.errors import BundleError
from gpustack_lab.bundle import crds
from gpustack_lab.bundle.cache import BuiltPart

# Stands in for controller-gen: writes as it does, and keeps its arguments and its folder.
GENERATOR = r"""#!/bin/sh
out=${{3#output:crd:dir=}}
grep -q "tool" go.mod || exit 1
printf 'metadata:\n  annotations:\n    of: "%s"\n' "$2" > "$out/{group}_prometheuses.yaml"
"""


def build_generator(directory: Path, group: str) -> BuiltPart:
    (directory / "controller-gen").write_text(GENERATOR.format(group=group))
    (directory / "controller-gen").chmod(0o755)
    return BuiltPart("controller-tools", directory, {"controller-gen": "0"}, fresh=True)


@pytest.fixture
def output_folder(tmp_path: Path) -> Path:
    (tmp_path / "part" / "out").mkdir(parents=True)
    return tmp_path / "part" / "out"


def test_each_kind_has_one_file(tmp_path: Path, output_folder: Path) -> None:
    crds.declare_prometheus_crds(build_generator(tmp_path, "monitoring.coreos.com"), "0.93.0").make(output_folder)
    assert [path.name for path in output_folder.iterdir()] == ["crd-prometheuses.yaml"]
    notes = yaml.safe_load((output_folder / "crd-prometheuses.yaml").read_text())["metadata"]["annotations"]
    assert [path.rsplit("/", 1)[1] for path in notes["of"].split(";")] == ["v1", "v1alpha1"]
    assert notes["operator.prometheus.io/version"] == "0.93.0"
    assert [path.name for path in output_folder.parent.iterdir()] == ["out"]


def test_another_group_is_refused(tmp_path: Path, output_folder: Path) -> None:
    with pytest.raises(BundleError, match=r"is not of monitoring\.coreos\.com"):
        crds.declare_prometheus_crds(build_generator(tmp_path, "example.org"), "0.93.0").make(output_folder)

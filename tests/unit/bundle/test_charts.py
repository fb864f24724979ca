"""Charts as Helm packs them, with the CRDs that they carry, under the addresses of the real ones."""

import io
import tarfile
from pathlib import Path

import pytest

from gpustack.errors import BundleError
from gpustack_lab.bundle import charts
from gpustack_lab.bundle.cache import BuiltPart, Part
from gpustack_lab.bundle.versions import load
from tests.unit.bundle import small_bundle

STACK = (
    "files/github.com/prometheus-community/helm-charts/releases/download/"
    "kube-prometheus-stack-88.5.3/kube-prometheus-stack-88.5.3.tgz"
)
OPERATOR = "files/helm.ngc.nvidia.com/nvidia/charts/gpu-operator-v26.7.0.tgz"


def list_names(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.getnames()


@pytest.fixture
def definition_parts(tmp_path: Path) -> dict[str, BuiltPart]:
    """Build the two parts with CRDs."""
    result = {}
    for name, file in small_bundle.CRDS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("kind: CustomResourceDefinition\n")
        result[name] = BuiltPart(name, tmp_path / name, {file: "0"}, fresh=True)
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(charts, "CHARTS", tmp_path / "charts")
    return small_bundle.make_charts(tmp_path / "charts")


def pack_chart(part: Part, folder: Path) -> bytes:
    folder.mkdir()
    part.make(folder)
    (archive,) = folder.iterdir()
    return archive.read_bytes()


def test_charts_lie_at_their_official_addresses(shared_bundle: Path) -> None:
    assert list_names((shared_bundle / STACK).read_bytes()) == [
        "kube-prometheus-stack/Chart.yaml",
        "kube-prometheus-stack/charts/crds/Chart.yaml",
        "kube-prometheus-stack/charts/crds/crds/crd-prometheuses.yaml",
        "kube-prometheus-stack/charts/crds/templates/config.yaml",
        "kube-prometheus-stack/templates/config.yaml",
    ]
    assert "gpu-operator/crds/nfd-api-crds.yaml" in list_names((shared_bundle / OPERATOR).read_bytes())


def test_crds_go_into_the_chart_inside_where_there_is_one(
    folder: Path, definition_parts: dict[str, BuiltPart], tmp_path: Path
) -> None:
    subchart = folder / "gpu-operator" / "charts" / "node-feature-discovery"
    subchart.mkdir(parents=True)
    (subchart / "Chart.yaml").write_text("name: node-feature-discovery\nversion: 0.17.0\n")
    names = list_names(pack_chart(charts.declare_parts(load(), definition_parts)["gpu-operator"], tmp_path / "out"))
    assert "gpu-operator/charts/node-feature-discovery/crds/nfd-api-crds.yaml" in names


def test_the_same_files_make_the_same_archive(
    folder: Path, definition_parts: dict[str, BuiltPart], tmp_path: Path
) -> None:
    part = charts.declare_parts(load(), definition_parts)["gpu-operator"]
    before = pack_chart(part, tmp_path / "one")
    (folder / "gpu-operator" / "Chart.yaml").touch()
    (folder / "gpu-operator" / "Chart.yaml").chmod(0o600)
    second_parts = charts.declare_parts(load(), definition_parts)["gpu-operator"]
    assert (second_parts.inputs, pack_chart(second_parts, tmp_path / "two")) == (part.inputs, before)


@pytest.mark.parametrize("subchart", ["charts/gpu-operator/templates/config.yaml", "nfd-crds/nfd-api-crds.yaml"])
def test_a_changed_file_packs_its_chart_anew(
    folder: Path, definition_parts: dict[str, BuiltPart], tmp_path: Path, subchart: str
) -> None:
    before = charts.declare_parts(load(), definition_parts)
    (tmp_path / subchart).write_text("other\n")
    after = charts.declare_parts(load(), definition_parts)
    assert {name for name in after if after[name].inputs != before[name].inputs} == {"gpu-operator"}


def test_a_chart_of_another_version_is_refused(folder: Path, definition_parts: dict[str, BuiltPart]) -> None:
    (folder / "gpu-operator" / "Chart.yaml").write_text("name: gpu-operator\nversion: v26.6.0\n")
    with pytest.raises(BundleError, match=r"gpu-operator v26\.6\.0") as excinfo:
        charts.declare_parts(load(), definition_parts)
    assert excinfo.value.reference == "bundle-version-apart"

"""Charts of the lab, gpustack_lab/simulated/charts/<chart>, packed as `helm package` does.

They have names, versions and addresses of the real charts. The CRDs that they need are added while they are packed.
"""

import gzip
import io
import tarfile
from collections.abc import Collection, Mapping
from pathlib import Path

import yaml

from gpustack.errors import BundleError
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.versions import Versions
from gpustack_lab.simulated.sources import CHARTS

NOTE = "SIMULATED: gpustack's own templates under the real chart's name; the CRDs in it are real"
# Which CRDs a chart carries, and in which chart inside it, as the real one does; none inside: in itself.
CRDS = {
    "kube-prometheus-stack": ("prometheus-crds", "crds"),
    "gpu-operator": ("nfd-crds", "node-feature-discovery"),
    "keda": ("keda-crds", ""),
}


def declare_parts(
    versions: Versions, built_parts: Mapping[str, BuiltPart], excluded_charts: Collection[str] = ()
) -> dict[str, Part]:
    """Declare one part per chart, by its name. Each has one archive. Raise BundleError for a chart whose version is not
    that of the version set."""
    sources = [source for source in sorted(CHARTS.iterdir()) if source.is_dir() and source.name not in excluded_charts]
    return {source.name: _declare_part(source, versions, built_parts) for source in sources}


def _declare_part(source: Path, versions: Versions, built_parts: Mapping[str, BuiltPart]) -> Part:
    name = source.name
    url = versions.build_chart_url(name)
    chart = yaml.safe_load((source / "Chart.yaml").read_text())
    pinned_chart = (name, str(versions.raw["charts"][name]["version"]))
    if (chart["name"], str(chart["version"])) != pinned_chart:
        raise BundleError(
            "bundle-version-apart",
            f"{source / 'Chart.yaml'} is of {chart['name']} {chart['version']}",
            f"version set {versions.set} has {' '.join(pinned_chart)}",
        )
    crd_files = _collect_crds(source, built_parts)
    target = url.rsplit("/", 1)[1]
    return Part(
        f"chart-{name}",
        digest(Path(__file__), source, target, sorted(crd_files), *crd_files.values()),
        lambda output_dir: _write(output_dir / target, pack_chart(source, crd_files)),
    )


def _collect_crds(source: Path, built_parts: Mapping[str, BuiltPart]) -> dict[str, Path]:
    """Collect the CRDs of a chart, by their path in it."""
    if source.name not in CRDS:
        return {}
    part, inside = CRDS[source.name]
    folder = f"charts/{inside}/crds" if (source / "charts" / inside / "Chart.yaml").exists() else "crds"
    return {f"{folder}/{Path(path).name}": built_parts[part][path] for path in built_parts[part].files}


def _write(target: Path, data: bytes) -> None:
    target.write_bytes(data)


def pack_chart(source: Path, crd_files: Mapping[str, Path]) -> bytes:
    """Pack the folder `source` and `crd_files` (path in the chart -> file) as Helm does, with Chart.yaml first."""
    files = {str(path.relative_to(source)): path for path in source.rglob("*") if path.is_file()} | dict(crd_files)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, file in sorted(files.items(), key=lambda item: (item[0] != "Chart.yaml", item[0])):
            entry = tarfile.TarInfo(f"{source.name}/{path}")
            data = file.read_bytes()
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), 9, mtime=0)

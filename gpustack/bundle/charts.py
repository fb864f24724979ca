"""Charts of the lab, gpustack/simulated/charts/<chart>, packed as `helm package` does.

They have names, versions and addresses of the real charts. What they want of CRDs is put into them here.
"""

import gzip
import io
import tarfile
from collections.abc import Collection, Mapping
from pathlib import Path

import yaml

from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.versions import Versions
from gpustack.errors import BundleError
from gpustack.simulated.sources import CHARTS

NOTE = "SIMULATED: gpustack's own templates under the real chart's name; the CRDs in it are real"
# Which CRDs a chart carries, and in which chart inside it, as the real one does; none inside: in itself.
CRDS = {
    "kube-prometheus-stack": ("prometheus-crds", "crds"),
    "gpu-operator": ("nfd-crds", "node-feature-discovery"),
    "keda": ("keda-crds", ""),
}


def parts(versions: Versions, made: Mapping[str, Made], without: Collection[str] = ()) -> dict[str, Part]:
    """Part by chart, but for those of WITHOUT; out/: the archive. Raises BundleError for a chart of another version
    than the version set's."""
    sources = [source for source in sorted(CHARTS.iterdir()) if source.is_dir() and source.name not in without]
    return {source.name: _part(source, versions, made) for source in sources}


def _part(source: Path, versions: Versions, made: Mapping[str, Made]) -> Part:
    name = source.name
    url = versions.chart(name)
    described = yaml.safe_load((source / "Chart.yaml").read_text())
    wanted = (name, str(versions.raw["charts"][name]["version"]))
    if (described["name"], str(described["version"])) != wanted:
        raise BundleError(
            "bundle-version-apart",
            f"{source / 'Chart.yaml'} is of {described['name']} {described['version']}",
            f"version set {versions.set} has {' '.join(wanted)}",
        )
    brought = _crds(source, made)
    target = url.rsplit("/", 1)[1]
    return Part(
        f"chart-{name}",
        digest(Path(__file__), source, target, sorted(brought), *brought.values()),
        lambda out: _write(out / target, archive(source, brought)),
    )


def _crds(source: Path, made: Mapping[str, Made]) -> dict[str, Path]:
    """By path in the chart."""
    if source.name not in CRDS:
        return {}
    part, inside = CRDS[source.name]
    folder = f"charts/{inside}/crds" if (source / "charts" / inside / "Chart.yaml").exists() else "crds"
    return {f"{folder}/{Path(path).name}": made[part][path] for path in made[part].files}


def _write(target: Path, data: bytes) -> None:
    target.write_bytes(data)


def archive(source: Path, brought: Mapping[str, Path]) -> bytes:
    """The folder SOURCE and files BROUGHT into it (path in the chart -> file), Chart.yaml first, as Helm packs it."""
    files = {str(path.relative_to(source)): path for path in source.rglob("*") if path.is_file()} | dict(brought)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, file in sorted(files.items(), key=lambda item: (item[0] != "Chart.yaml", item[0])):
            entry = tarfile.TarInfo(f"{source.name}/{path}")
            data = file.read_bytes()
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), 9, mtime=0)

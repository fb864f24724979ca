"""Single files that hosts fetch by their official addresses: Helm's archive and manifests."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.modules import environment
from gpustack.bundle.programs import run
from gpustack.bundle.versions import Versions
from gpustack.errors import BundleError


def helm(version: str, made: Made, architecture: str) -> Part:
    """out/: the archive as on https://get.helm.sh/, with its two checksum files."""
    name = f"helm-v{version}-linux-{architecture}.tar.gz"
    return Part(
        "helm-archive",
        digest(name, made.contents, Path(__file__)),
        lambda out: _archive(made["helm"], out / name, architecture),
    )


def _archive(program: Path, target: Path, architecture: str) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        entry = tarfile.TarInfo(f"linux-{architecture}/helm")
        entry.size, entry.mode = program.stat().st_size, 0o755
        with program.open("rb") as stream:
            tar.addfile(entry, stream)
    data = gzip.compress(raw.getvalue(), 2, mtime=0)
    target.write_bytes(data)
    sha = hashlib.sha256(data).hexdigest()
    target.with_name(target.name + ".sha256").write_text(sha)
    target.with_name(target.name + ".sha256sum").write_text(f"{sha}  {target.name}\n")


def manifest(component: str, versions: Versions) -> Part:
    """out/<file>: a manifest out of its component's module. Raises BundleError if it is not that of the version set."""
    entry = versions.raw["manifests"][component]
    expected, inside = entry["sha256"], entry["file"]
    module = f"{versions.origin(component)}@v{versions[component]}"
    return Part(
        f"{component}-manifest",
        digest(module, inside, expected),
        lambda out: _manifest(module, inside, expected, out),
    )


def _manifest(module: str, inside: str, expected: str, out: Path) -> None:
    source = module_directory(module) / inside
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != expected:
        raise BundleError(
            "bundle-checksum",
            f"the manifest in {module} is not that of the version set",
            f"sha256 {found}\nexpected {expected}",
        )
    (out / source.name).write_bytes(source.read_bytes())


def module_directory(module: str) -> Path:
    """Where Go keeps MODULE@VERSION, fetched if need be and vouched for by the checksum database."""
    download = json.loads(run(["go", "mod", "download", "-json", module], env=environment(cgo=False), limit=600))
    return Path(download["Dir"])

"""Single files that hosts fetch by their official addresses: Helm's archive and manifests."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.modules import build_go_environment
from gpustack_lab.bundle.versions import Versions


def declare_helm_archive(version: str, built_part: BuiltPart, architecture: str) -> Part:
    """Declare the part with the archive as on https://get.helm.sh/, and its two checksum files."""
    name = f"helm-v{version}-linux-{architecture}.tar.gz"
    return Part(
        "helm-archive",
        digest(name, built_part.contents, Path(__file__)),
        lambda output_dir: _write_archive(built_part["helm"], output_dir / name, architecture),
    )


def _write_archive(program: Path, target: Path, architecture: str) -> None:
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


def declare_manifest(component: str, versions: Versions) -> Part:
    """Declare the part with a manifest from the module of its component. Raise BundleError if it is not that of the
    version set."""
    entry = versions.raw["manifests"][component]
    expected_sha256, inner_path = entry["sha256"], entry["file"]
    module = f"{versions.select_origin(component)}@v{versions[component]}"
    return Part(
        f"{component}-manifest",
        digest(module, inner_path, expected_sha256),
        lambda output_dir: _write_manifest(module, inner_path, expected_sha256, output_dir),
    )


def _write_manifest(module: str, inner_path: str, expected_sha256: str, output_dir: Path) -> None:
    source = fetch_module(module) / inner_path
    actual_sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    if actual_sha256 != expected_sha256:
        raise BundleError(
            "bundle-checksum",
            f"the manifest in {module} is not that of the version set",
            f"sha256 {actual_sha256}\nexpected {expected_sha256}",
        )
    (output_dir / source.name).write_bytes(source.read_bytes())


def fetch_module(module: str) -> Path:
    """Return the directory of MODULE@VERSION in Go's module cache. Fetch it where it is missing; the checksum database
    vouches for it."""
    download = json.loads(
        run(["go", "mod", "download", "-json", module], env=build_go_environment(cgo=False), limit=600)
    )
    return Path(download["Dir"])

"""`python -m scripts.rights` writes docs/rights.md. It needs helm and kubectl on PATH, and fetches charts and manifests
from their pinned addresses.

    --chart NAME=PATH[=ORIGIN]   an archive of the pinned checksum or, with where it is from, an unpacked chart
    --manifest NAME=PATH         a file of the pinned checksum
    --check                      say what of the page is not of this release, and fail; needs no chart
    --objects FILE               print what the objects of a file may do, as JSON
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment

from gpustack.config.resources import locate_playbooks
from scripts.rights.page import find_stale, render_page
from scripts.rights.permissions import find_permissions
from scripts.rights.pods import find_access
from scripts.rights.sources import Chart, Manifest, list_charts, list_manifests

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rights.md"
KUBERNETES = "1.36.4"
ROLES = {"flannel": "flannel", "local-path-provisioner": "storage"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chart", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--manifest", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--objects", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.check:
        stale_lines = find_stale(PAGE.read_text())
        sys.stdout.write("".join(f"{line}\n" for line in stale_lines))
        sys.exit(bool(stale_lines))
    if options.objects:
        sys.stdout.write(describe(parse_documents(options.objects.read_text())))
        return
    files = {name: value for name, _, value in (word.partition("=") for word in [*options.chart, *options.manifest])}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        chart_objects = {chart: render_chart(chart, files.get(chart.name, ""), folder) for chart in list_charts()}
        manifest_objects = {item: render_manifest(item, files.get(item.name, ""), folder) for item in list_manifests()}
    PAGE.write_text(render_page(chart_objects, manifest_objects))


def describe(objects: list[dict[str, Any]]) -> str:
    """Describe the rights of these objects as JSON."""
    access = [asdict(entry) for entry in find_access(objects, "default")]
    permissions = [asdict(entry) for entry in find_permissions(objects, "default")]
    return json.dumps({"access": access, "permissions": permissions})


def render_chart(chart: Chart, argument: str, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """Render the objects that Helm would install, with the origin of the templates. Raise SystemExit for a chart of
    another version or checksum."""
    path, _, origin = argument.partition("=")
    source = Path(path) if path else fetch(chart.url, folder)
    if source.is_dir():
        metadata = yaml.safe_load((source / "Chart.yaml").read_text())
        if str(metadata["version"]) != chart.version or not origin:
            raise SystemExit(
                f"{source}: version {chart.version} and an origin are needed, it has {metadata['version']}"
            )
    else:
        origin = f"the archive with SHA-256 {require_checksum(source, chart.sha256)[:16]}…"
    values = folder / f"{chart.name}.json"
    values.write_text(json.dumps(dict(chart.values)))
    words = ["helm", "template", chart.release, str(source), "--namespace", chart.namespace, "--values", str(values)]
    return origin, parse_documents(run(*words, "--kube-version", KUBERNETES))


def render_manifest(manifest: Manifest, argument: str, folder: Path) -> list[dict[str, Any]]:
    """Render an upstream manifest under gpustack's settings, as the role does."""
    source = Path(argument) if argument else fetch(manifest.url, folder)
    require_checksum(source, manifest.sha256)
    kustomization_dir = folder / manifest.name
    kustomization_dir.mkdir()
    template = (locate_playbooks() / "roles" / ROLES[manifest.name] / "templates" / "kustomization.yaml.j2").read_text()
    environment = Environment(autoescape=False)  # noqa: S701 - YAML
    environment.filters |= {
        "to_json": lambda value, **_: json.dumps(value),
        "hash": lambda text, kind: hashlib.new(kind, text.encode()).hexdigest(),
    }
    text = environment.from_string(template).render(flannel_net_conf={}, storage_paths={}, storage_image="provisioner")
    (kustomization_dir / "kustomization.yaml").write_text(text)
    (name,) = re.findall(r"^resources: \[(.+)\]$", text, re.MULTILINE)
    shutil.copy(source, kustomization_dir / name)
    return parse_documents(run("kubectl", "kustomize", str(kustomization_dir)))


def fetch(url: str, folder: Path) -> Path:
    target = folder / url.rsplit("/", 1)[1]
    with urllib.request.urlopen(url, timeout=60) as response:  # noqa: S310 - pinned, and its checksum is compared
        target.write_bytes(response.read())
    return target


def require_checksum(path: Path, expected_checksum: str) -> str:
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != expected_checksum:
        raise SystemExit(f"{path}: expected SHA-256 {expected_checksum}, actual {actual}")
    return actual


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def parse_documents(text: str) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(text) if item]


if __name__ == "__main__":
    main()

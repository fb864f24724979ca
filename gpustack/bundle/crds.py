"""Custom resource definitions, as single files, for the charts that carry them.

Those of the Prometheus operator are in no Go module: they are made of its API module, by the program its makers use.
Those of NFD lie in its module.
"""

import shutil
from pathlib import Path

from gpustack.bundle import modules
from gpustack.bundle.cache import Made, Part, digest
from gpustack.bundle.files import module_directory
from gpustack.bundle.programs import run
from gpustack.bundle.versions import Versions
from gpustack.errors import BundleError

# Not v1beta1: with it AlertmanagerConfig would need a webhook that converts.
API = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"
API_VERSIONS = ("v1", "v1alpha1")
# Without descriptions a third of the size: a release that holds them all must fit into a Secret.
GENERATOR = "crd:crdVersions=v1,maxDescLen=0"
GROUP = "monitoring.coreos.com"
VERSION = "operator.prometheus.io/version"
NFD_FILE = "deployment/base/nfd-crds/nfd-api-crds.yaml"


def prometheus(generator: Made, version: str) -> Part:
    """out/crd-<plural>.yaml for each kind of monitoring.coreos.com. `generator` is controller-tools, `version` that of
    the operator."""
    source = modules.SOURCES / "prometheus-operator"
    inputs = digest(Path(__file__), source, generator.contents, version)
    return Part("prometheus-crds", inputs, lambda out: _generate(generator["controller-gen"], version, source, out))


def _generate(generator: Path, version: str, pinned: Path, out: Path) -> None:
    source = out.parent / "source"
    shutil.copytree(pinned, source)
    paths = ";".join(f"{API}/{version}" for version in API_VERSIONS)
    argv: list[str | Path] = [generator, GENERATOR, f"paths={paths}", f"output:crd:dir={out}"]
    run(argv, cwd=source, env=modules.environment(cgo=False), limit=900)
    shutil.rmtree(source)
    for path in sorted(out.iterdir()):
        group, _, plural = path.stem.partition("_")
        if group != GROUP:
            raise BundleError("bundle-program-failed", f"{path.name} is not of {GROUP}", " ".join(map(str, argv)))
        # As its makers do when they publish them: the only place that says of which version a definition is.
        definition = path.read_text().replace("  annotations:\n", f"  annotations:\n    {VERSION}: {version}\n", 1)
        (out / f"crd-{plural}.yaml").write_text(definition)
        path.unlink()


def nfd(versions: Versions) -> Part:
    """out/nfd-api-crds.yaml: the three kinds of nfd.k8s-sigs.io, as in the module."""
    module = f"{versions.origin('node-feature-discovery')}@v{versions['node-feature-discovery']}"
    return Part("nfd-crds", digest(module, NFD_FILE), lambda out: _out_of_module(module, out))


def _out_of_module(module: str, out: Path) -> None:
    source = module_directory(module) / NFD_FILE
    (out / source.name).write_bytes(source.read_bytes())

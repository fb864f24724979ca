"""Custom resource definitions, as single files, for the charts that carry them.

Those of the Prometheus operator and of KEDA are in no Go module: they are made of their API packages, by the program
that their makers use. Those of NFD lie in its module.
"""

import shutil
from collections.abc import Sequence
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
KEDA = ("github.com/kedacore/keda/v2/apis/keda/v1alpha1", "github.com/kedacore/keda/v2/apis/eventing/v1alpha1")
KEDA_GROUPS = ("keda.sh", "eventing.keda.sh")
VERSION = "operator.prometheus.io/version"
NFD_FILE = "deployment/base/nfd-crds/nfd-api-crds.yaml"


def prometheus(generator: Made, version: str) -> Part:
    """out/crd-<plural>.yaml for each kind of monitoring.coreos.com. `generator` is controller-tools, `version` that of
    the operator."""
    source = modules.SOURCES / "prometheus-operator"
    inputs = digest(Path(__file__), source, generator.contents, version)
    packages = [f"{API}/{version}" for version in API_VERSIONS]

    def make(out: Path) -> None:
        _generate(generator, packages, (GROUP,), source, out)
        for path in out.iterdir():
            # As its makers do when they publish them: the only place that says of which version a definition is.
            stamped = path.read_text().replace("  annotations:\n", f"  annotations:\n    {VERSION}: {version}\n", 1)
            path.write_text(stamped)

    return Part("prometheus-crds", inputs, make)


def keda(generator: Made, version: str) -> Part:
    """out/crd-<plural>.yaml for each kind of keda.sh and eventing.keda.sh. As its Makefile does, without a type that
    only stands for others in its code."""
    source = modules.SOURCES / "keda"
    inputs = digest(Path(__file__), source, generator.contents, version)

    def make(out: Path) -> None:
        _generate(generator, KEDA, KEDA_GROUPS, source, out, ",generateEmbeddedObjectMeta=true")
        (out / "crd-withtriggers.yaml").unlink()

    return Part("keda-crds", inputs, make)


def _generate(
    generator: Made, packages: Sequence[str], groups: Sequence[str], pinned: Path, out: Path, more: str = ""
) -> None:
    source = out.parent / "source"
    shutil.copytree(pinned, source)
    argv: list[str | Path] = [generator["controller-gen"], f"{GENERATOR}{more}", f"paths={';'.join(packages)}"]
    argv.append(f"output:crd:dir={out}")
    run(argv, cwd=source, env=modules.environment(cgo=False), limit=900)
    shutil.rmtree(source)
    for path in sorted(out.iterdir()):
        group, _, plural = path.stem.partition("_")
        if group not in groups:
            odd = f"{path.name} is not of {' or '.join(groups)}"
            raise BundleError("bundle-program-failed", odd, " ".join(map(str, argv)))
        path.rename(out / f"crd-{plural}.yaml")


def nfd(versions: Versions) -> Part:
    """out/nfd-api-crds.yaml: the three kinds of nfd.k8s-sigs.io, as in the module."""
    module = f"{versions.origin('node-feature-discovery')}@v{versions['node-feature-discovery']}"
    return Part("nfd-crds", digest(module, NFD_FILE), lambda out: _out_of_module(module, out))


def _out_of_module(module: str, out: Path) -> None:
    source = module_directory(module) / NFD_FILE
    (out / source.name).write_bytes(source.read_bytes())

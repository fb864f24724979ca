"""Custom resource definitions, as single files, for the charts that carry them.

Those of the Prometheus operator and of KEDA are in no Go module: their makers' program generates them from their API
packages. Those of NFD lie in its module.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from gpustack.bundle.programs import run
from gpustack.errors import BundleError
from gpustack_lab.bundle import modules
from gpustack_lab.bundle.cache import BuiltPart, Part, digest
from gpustack_lab.bundle.files import fetch_module
from gpustack_lab.bundle.versions import Versions

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


def declare_prometheus_crds(generator: BuiltPart, version: str) -> Part:
    """Declare the part with crd-<plural>.yaml for each kind of monitoring.coreos.com. `generator` is the part
    controller-tools, `version` is that of the operator."""
    source = modules.SOURCES / "prometheus-operator"
    inputs = digest(Path(__file__), source, generator.contents, version)
    packages = [f"{API}/{version}" for version in API_VERSIONS]

    def make(output_dir: Path) -> None:
        _generate(generator, packages, (GROUP,), source, output_dir)
        for path in output_dir.iterdir():
            # As its makers do when they publish them: the only place that says of which version a definition is.
            stamped = path.read_text().replace("  annotations:\n", f"  annotations:\n    {VERSION}: {version}\n", 1)
            path.write_text(stamped)

    return Part("prometheus-crds", inputs, make)


def declare_keda_crds(generator: BuiltPart, version: str) -> Part:
    """Declare the part with crd-<plural>.yaml for each kind of keda.sh and eventing.keda.sh. As in KEDA's Makefile, a
    type that only stands for others in its code is left out."""
    source = modules.SOURCES / "keda"
    inputs = digest(Path(__file__), source, generator.contents, version)

    def make(output_dir: Path) -> None:
        _generate(generator, KEDA, KEDA_GROUPS, source, output_dir, ",generateEmbeddedObjectMeta=true")
        (output_dir / "crd-withtriggers.yaml").unlink()

    return Part("keda-crds", inputs, make)


def _generate(
    generator: BuiltPart,
    packages: Sequence[str],
    groups: Sequence[str],
    module_dir: Path,
    output_dir: Path,
    generator_options: str = "",
) -> None:
    source = output_dir.parent / "source"
    shutil.copytree(module_dir, source)
    argv: list[str | Path] = [
        generator["controller-gen"],
        f"{GENERATOR}{generator_options}",
        f"paths={';'.join(packages)}",
    ]
    argv.append(f"output:crd:dir={output_dir}")
    run(argv, cwd=source, env=modules.build_go_environment(cgo=False), limit=900)
    shutil.rmtree(source)
    for path in sorted(output_dir.iterdir()):
        group, _, plural = path.stem.partition("_")
        if group not in groups:
            odd = f"{path.name} is not of {' or '.join(groups)}"
            raise BundleError("bundle-program-failed", odd, " ".join(map(str, argv)))
        path.rename(output_dir / f"crd-{plural}.yaml")


def declare_nfd_crds(versions: Versions) -> Part:
    """Declare the part with nfd-api-crds.yaml, the three kinds of nfd.k8s-sigs.io as in the module."""
    module = f"{versions.select_origin('node-feature-discovery')}@v{versions['node-feature-discovery']}"
    return Part("nfd-crds", digest(module, NFD_FILE), lambda output_dir: _copy_from_module(module, output_dir))


def _copy_from_module(module: str, output_dir: Path) -> None:
    source = fetch_module(module) / NFD_FILE
    (output_dir / source.name).write_bytes(source.read_bytes())

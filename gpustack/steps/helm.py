"""Helm: the program that installs charts, in a separate directory on the control plane.

The official archive is downloaded, verified with the checksum of the version set (from a mirror, with the checksums
that the mirror signs), and installed to /usr/local/lib/gpustack/helm. Another Helm on the host, of whatever version, is
neither used nor changed. To inspect a release by hand, on the control plane:

    sudo KUBECONFIG=/etc/kubernetes/admin.conf /usr/local/lib/gpustack/helm list --all-namespaces

Settings: source. Source: https://helm.sh/docs/intro/install
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.helm import HELM
from gpustack.steps.releases import needs_any_release
from gpustack.steps.step import Step


def program(view: View) -> Result | None:
    """If a chart is to be installed, the Helm of gpustack is installed, runs, and has the version of the version
    set."""
    if not needs_any_release(view):
        return None
    return expect("Helm", view.versions.helm.version, view[HELM])


STEP = Step(
    "helm",
    scope="cluster",
    probes=(HELM, GPU_DEVICES),
    checks=(program,),
    needs=("control-plane",),
)

"""Helm: the program that installs charts, on the control plane, in a place of its own.

It is fetched as its publisher packs it, compared with the checksum of the version set (from a mirror, with those that
the mirror signs), and put to /usr/local/lib/gpustack/helm. Another Helm that you have there, in whatever version, is
neither used nor touched. To look at a release by hand, on the control plane:

    sudo KUBECONFIG=/etc/kubernetes/admin.conf /usr/local/lib/gpustack/helm list --all-namespaces

Settings: source. Source: https://helm.sh/docs/intro/install
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.probes.gpu import GPU_DEVICES
from gpustack.probes.helm import HELM
from gpustack.steps.control_plane import control_planes
from gpustack.steps.releases import any_wanted
from gpustack.steps.step import Step


def program(here: View) -> Result | None:
    """Where something is to be installed with it, our Helm is there, runs, and has the version of the version set."""
    if not any_wanted(here):
        return None
    return expect("Helm", here.versions.helm.version, here[HELM])


STEP = Step(
    "helm",
    scope="cluster",
    probes=(HELM, GPU_DEVICES),
    checks=(program,),
    needs=("control-plane",),
    applies=control_planes,
)

"""Which objects of the cluster are the platform's: in other namespaces they are a user's own, and no fault of ours."""

from gpustack.ask.view import View


def namespaces(here: View) -> frozenset[str]:
    spec = here.spec
    scaling = {spec.autoscaling.namespace} if spec.autoscaling.enabled else set[str]()
    ours = {"kube-system", "kube-flannel", "local-path-storage", spec.monitoring.namespace, spec.gpu.namespace}
    return frozenset(ours | scaling)

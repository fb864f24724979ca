"""Layer `cni`: pods whose sandbox cannot be made, as the kubelet of their node says it."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.platform_namespaces import namespaces
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.probes.kubernetes.pods import MONITORING_PODS, PROMETHEUS, SANDBOX_FAILURES, STARTING_PODS, Pending
from gpustack.steps.own_node import own

# containerd, internal/cri/config: a RuntimeClass of somebody's that this containerd does not have.
HANDLER = re.compile(r'no runtime for \\?"([^"\\]+)\\?" is configured')


def is_foreign_runtime(words: str) -> bool:
    """Whether it is for a runtime that nobody brings but the pod's own author."""
    found = HANDLER.search(words)
    return found is not None and not found[1].startswith(("nvidia", "runc"))


def without_sandbox(here: View, node: Node | None) -> list[Pending]:
    """Pods of the node that still wait, and whose sandbox could not be made."""
    waiting, failed = here[STARTING_PODS], here[SANDBOX_FAILURES]
    return [pod for pod in waiting if node and pod.node == node.name and not pod.begun and pod.uid in failed]


@check("st-sandbox-fails", NODES, IDENTITY, STARTING_PODS, SANDBOX_FAILURES)
def sandbox_fails(here: View) -> Result:
    """Only pods that still wait count: events remain for an hour after recovery."""
    what, node = "sandboxes of pods", own(here)
    if node is None:
        return ok(what, "the host is not a node")
    failed = here[SANDBOX_FAILURES]
    here_too = without_sandbox(here, node)
    found = [pod for pod in here_too if pod.namespace in namespaces(here) or not is_foreign_runtime(failed[pod.uid])]
    if not found:
        return ok(what, "no pod of this node without one")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    first = found[0]
    return Result(what, "created", f"{first.namespace}/{first.name}{more}: {failed[first.uid][:300]}")


@check("st-sandbox-fails -> st-no-metrics", NODES, IDENTITY, MONITORING_PODS)
def prometheus_is_here(here: View) -> Result:
    node, found = own(here), here[MONITORING_PODS].get(PROMETHEUS, ())
    return Result("Prometheus", "on this node", as_text(found), ok=not (node is not None and node.name in found))


@check("containerd-cgroup-driver -> kube-proxy-down", NODES, IDENTITY, STARTING_PODS, SANDBOX_FAILURES)
def proxy_waits(here: View) -> Result:
    """kube-proxy started after the runtime had stopped creating sandboxes. An earlier one keeps running."""
    waiting = without_sandbox(here, own(here))
    found = any(pod.namespace == "kube-system" and pod.name.startswith("kube-proxy-") for pod in waiting)
    return Result("sandbox of kube-proxy", "missing", "missing" if found else "created", ok=not found)


CHECKS = (sandbox_fails, prometheus_is_here, proxy_waits)

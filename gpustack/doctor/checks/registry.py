"""Faults of the layer `registry` in pods that wait for an image, and in the registry's answer. Images of users do not
count."""

import re

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.host.egress import DAEMONS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.join_endpoint import SOURCE
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pods import STARTING_PODS, PendingPod, WaitingContainer
from gpustack.steps.own_node import find_node
from gpustack.steps.platform_namespaces import list_platform_namespaces

PULL_REASONS = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}
RATE = re.compile(r"toomanyrequests|429 Too Many Requests")
ABSENT_IMAGE = re.compile(r": not found|manifest unknown|no matching manifest|name unknown")
FAILING = re.compile(
    r"(unexpected status|HTTP status)[^:]*(: | )\"?5[0-9][0-9]|50[0234] (Internal|Bad|Service|Gateway)"
)
REFUSED_CONNECTION = re.compile(r"dial tcp [0-9.:]+: connect: connection refused")
# A connection that was not made, to a registry or to a proxy (Go, net/dial.go).
CONNECTION_ERROR = re.compile(r"dial tcp [^ ]+: (?:i/o timeout|connect: )|dial tcp: lookup |context deadline exceeded")
Pull = tuple[PendingPod, WaitingContainer]


def list_waiting_pulls(view: View) -> list[Pull]:
    """List the containers that wait for their image, on all nodes."""
    return [
        (pod, container) for pod in view[STARTING_PODS] for container in pod.waiting if container.reason in PULL_REASONS
    ]


def is_platform_pull(view: View, pull: Pull) -> bool:
    return pull[0].namespace in list_platform_namespaces(view)


def is_rate_limited(pull: Pull) -> bool:
    return bool(RATE.search(pull[1].message))


def select_on_own_node(view: View, pulls: list[Pull]) -> list[Pull]:
    node = find_node(view)
    return [pull for pull in pulls if node and pull[0].node == node.name]


def format_pulls(pulls: list[Pull]) -> str:
    pod, container = pulls[0]
    remainder = f" (and {len(pulls) - 1} more)" if len(pulls) > 1 else ""
    problem = container.message or container.reason
    return f"{pod.namespace}/{pod.name} cannot pull {container.image}: {problem}{remainder}"


@check("st-image-pull-fails", STARTING_PODS, NODES, IDENTITY)
def pull_fails(view: View) -> Result:
    """Look for images of gpustack that cannot be pulled, or any image if the registry limits this address."""
    pulls = [
        pull
        for pull in select_on_own_node(view, list_waiting_pulls(view))
        if is_platform_pull(view, pull) or is_rate_limited(pull)
    ]
    return Result("images", "pulled", format_pulls(pulls) if pulls else "none waiting", ok=not pulls)


@check("image-pull-rate-limited", STARTING_PODS, NODES, IDENTITY)
def rate_limited(view: View) -> Result:
    """Look for the registry's error about too many requests."""
    limited_pulls = [pull for pull in select_on_own_node(view, list_waiting_pulls(view)) if is_rate_limited(pull)]
    return Result(
        "image pulls",
        "not rate-limited",
        format_pulls(limited_pulls) if limited_pulls else "not rate-limited",
        ok=not limited_pulls,
    )


@check("image-registry-down-or-not-found", STARTING_PODS)
def registry_fails(view: View) -> Result:
    """Look for errors of the registry about images of the platform. A removed image of the GPU operator is another
    fault; a proxy that refuses is not a registry."""
    subject = "registry"
    platform_pulls = [
        pull for pull in list_waiting_pulls(view) if is_platform_pull(view, pull) and not is_rate_limited(pull)
    ]
    missing_pulls = [
        pull
        for pull in platform_pulls
        if ABSENT_IMAGE.search(pull[1].message) and pull[0].namespace != view.spec.gpu.namespace
    ]
    failing_pulls = [pull for pull in platform_pulls if is_registry_failure(pull[1].message)]
    if missing_pulls or failing_pulls:
        return Result(subject, "available, with the image", format_pulls(missing_pulls or failing_pulls))
    return build_ok_result(subject, "no failed pull of an image of gpustack")


def is_registry_failure(message: str) -> bool:
    return bool(FAILING.search(message) or (REFUSED_CONNECTION.search(message) and "proxyconnect" not in message))


@check("containerd-proxy-missing", DAEMONS, SOURCE, STARTING_PODS, NODES, IDENTITY)
def proxy_missing(view: View) -> Result:
    """Look for a pull that failed on a direct connection, where containerd runs without the proxy of the spec. Raise
    FactUnavailable where nothing goes through the proxy either: then containerd is not at fault alone."""
    subject, spec_proxy = "proxy of the running containerd", view.spec.proxy
    state = view[DAEMONS].get("containerd", "same")
    if spec_proxy is None or state == "same":
        return build_ok_result(subject, "that of the spec" if spec_proxy else "none in the spec")
    failed_pulls = [
        pull for pull in select_on_own_node(view, list_waiting_pulls(view)) if CONNECTION_ERROR.search(pull[1].message)
    ]
    if not failed_pulls:
        return build_ok_result(subject, "not that of the spec, and no pull fails for it")
    connection = view[SOURCE]
    if connection.curl_rc:
        raise FactUnavailable(f"the proxy of the spec does not lead to {connection.place}: {connection.reason}")
    actual = "none" if state == "none" else "a different one"
    return Result(subject, "that of the spec", f"{actual}; {format_pulls(failed_pulls)}")


def judge_image_wait(view: View, part: str) -> Result:
    pulls = [pull for pull in select_on_own_node(view, list_waiting_pulls(view)) if part in pull[1].image]
    return Result(
        f"image of {part}", "present", format_pulls(pulls) if pulls else "not waiting on this node", ok=not pulls
    )


@check("st-image-pull-fails -> st-dns-broken", STARTING_PODS, NODES, IDENTITY)
def of_coredns(view: View) -> Result:
    return judge_image_wait(view, "coredns")


@check("st-image-pull-fails -> op-nodes-not-labelled", STARTING_PODS, NODES, IDENTITY)
def of_discovery(view: View) -> Result:
    return judge_image_wait(view, "node-feature-discovery")

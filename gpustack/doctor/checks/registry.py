"""Layer `registry`: pods that wait for an image, and the registry's answer. A user's own image is left to the user."""

import re

from gpustack.ask.judge import Result, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.platform_namespaces import namespaces
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pods import STARTING_PODS, Pending, WaitingContainer
from gpustack.steps.own_node import own

PULLING = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}
RATE = re.compile(r"toomanyrequests|429 Too Many Requests")
ABSENT = re.compile(r": not found|manifest unknown|no matching manifest|name unknown")
FAILING = re.compile(
    r"(unexpected status|HTTP status)[^:]*(: | )\"?5[0-9][0-9]|50[0234] (Internal|Bad|Service|Gateway)"
)
DOWN = re.compile(r"dial tcp [0-9.:]+: connect: connection refused")
Pull = tuple[Pending, WaitingContainer]


def pulls(here: View) -> list[Pull]:
    """Containers that wait for their image, on all nodes."""
    return [(pod, one) for pod in here[STARTING_PODS] for one in pod.waiting if one.reason in PULLING]


def ours(here: View, pull: Pull) -> bool:
    return pull[0].namespace in namespaces(here)


def limited(pull: Pull) -> bool:
    return bool(RATE.search(pull[1].message))


def here_only(here: View, found: list[Pull]) -> list[Pull]:
    node = own(here)
    return [pull for pull in found if node and pull[0].node == node.name]


def words(found: list[Pull]) -> str:
    pod, one = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{pod.namespace}/{pod.name} waits for {one.image}: {one.message or one.reason}"[:400] + more


@check("st-image-pull-fails", STARTING_PODS, NODES, IDENTITY)
def pull_fails(here: View) -> Result:
    """Of what gpustack brings; and of everybody where the registry limits this address."""
    found = [pull for pull in here_only(here, pulls(here)) if ours(here, pull) or limited(pull)]
    return Result("images", "pulled", words(found) if found else "none is waited for", ok=not found)


@check("image-pull-rate-limited", STARTING_PODS, NODES, IDENTITY)
def rate_limited(here: View) -> Result:
    """Its words alone decide."""
    found = [pull for pull in here_only(here, pulls(here)) if limited(pull)]
    return Result(
        "pulls", "not limited", words(found) if found else "no registry says that it limits them", ok=not found
    )


@check("image-registry-down-or-not-found", STARTING_PODS)
def registry_fails(here: View) -> Result:
    """An image of the GPU operator that is gone is a fault of its own; a proxy that refuses is no registry."""
    what, found = "registry", [pull for pull in pulls(here) if ours(here, pull) and not limited(pull)]
    gone = [pull for pull in found if ABSENT.search(pull[1].message) and pull[0].namespace != here.spec.gpu.namespace]
    failing = [pull for pull in found if fails(pull[1].message)]
    if gone or failing:
        return Result(what, "has the image", words(gone or failing))
    return ok(what, "no image of ours is refused as absent, nor by a registry that fails")


def fails(message: str) -> bool:
    return bool(FAILING.search(message) or (DOWN.search(message) and "proxyconnect" not in message))


def waits_for(here: View, part: str) -> Result:
    found = [pull for pull in here_only(here, pulls(here)) if part in pull[1].image]
    return Result(f"image of {part}", "there", words(found) if found else "not waited for on this node", ok=not found)


@check("st-image-pull-fails -> st-dns-broken", STARTING_PODS, NODES, IDENTITY)
def of_coredns(here: View) -> Result:
    return waits_for(here, "coredns")


@check("st-image-pull-fails -> op-nodes-not-labelled", STARTING_PODS, NODES, IDENTITY)
def of_discovery(here: View) -> Result:
    return waits_for(here, "node-feature-discovery")


CHECKS = (pull_fails, rate_limited, registry_fails, of_coredns, of_discovery)

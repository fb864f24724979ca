"""Layer `registry`: pods that wait for an image, and what the registry said. A user's own image is the user's."""

import re

from gpustack.ask.view import View
from gpustack.doctor.checks.ours import namespaces
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.kube import NODES
from gpustack.probes.pods import STARTING_PODS, Pending, WaitingContainer
from gpustack.probes.system import IDENTITY
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


@tells("st-image-pull-fails", STARTING_PODS, NODES, IDENTITY)
def pull_fails(here: View) -> Told:
    """Of what gpustack brings; and of everybody where the registry limits this address."""
    found = [pull for pull in here_only(here, pulls(here)) if ours(here, pull) or limited(pull)]
    return Told(bool(found), "images", "pulled", words(found) if found else "none is waited for")


@tells("image-pull-rate-limited", STARTING_PODS, NODES, IDENTITY)
def rate_limited(here: View) -> Told:
    """Its words alone decide."""
    found = [pull for pull in here_only(here, pulls(here)) if limited(pull)]
    return Told(bool(found), "pulls", "not limited", words(found) if found else "no registry says that it limits them")


@tells("image-registry-down-or-not-found", STARTING_PODS)
def registry_fails(here: View) -> Told:
    """An image of the GPU operator that is gone is a fault of its own; a proxy that refuses is no registry."""
    what, found = "registry", [pull for pull in pulls(here) if ours(here, pull) and not limited(pull)]
    gone = [pull for pull in found if ABSENT.search(pull[1].message) and pull[0].namespace != here.spec.gpu.namespace]
    failing = [pull for pull in found if fails(pull[1].message)]
    if gone or failing:
        return confirmed(what, "has the image", words(gone or failing))
    return refuted(what, "no image of ours is refused as absent, nor by a registry that fails")


def fails(message: str) -> bool:
    return bool(FAILING.search(message) or (DOWN.search(message) and "proxyconnect" not in message))


def waits_for(here: View, part: str) -> Told:
    found = [pull for pull in here_only(here, pulls(here)) if part in pull[1].image]
    return Told(bool(found), f"image of {part}", "there", words(found) if found else "not waited for on this node")


@tells("st-image-pull-fails -> st-dns-broken", STARTING_PODS, NODES, IDENTITY)
def of_coredns(here: View) -> Told:
    return waits_for(here, "coredns")


@tells("st-image-pull-fails -> op-nodes-not-labelled", STARTING_PODS, NODES, IDENTITY)
def of_discovery(here: View) -> Told:
    return waits_for(here, "node-feature-discovery")

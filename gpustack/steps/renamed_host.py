"""A host whose name was changed after its kubelet had made a node."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.host.system import HOSTNAME
from gpustack.steps.own_node import find_node


def describe_renamed_host(view: View) -> str:
    """Describe a host that is not named like its node; empty where it is, where it has no node, and where either is
    unknown. A kubelet reads the name when it starts and lowers it (k8s.io/component-helpers, node/util/hostname.go).
    Its option --hostname-override may keep the old one, so this is no difference."""
    try:
        name, node = view[HOSTNAME].lower(), find_node(view)
    except FactUnavailable:
        return ""
    if node is None or node.name == name:
        return ""
    return (
        f"the host is named {name} and its node {node.name}: unless the kubelet has --hostname-override, it will not "
        f"find its node when it starts again, and the node is lost. To keep it: hostnamectl set-hostname {node.name}"
    )

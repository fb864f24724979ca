"""Evictions through the API's own subresource, which holds PodDisruptionBudgets.

kubectl has no command for a single eviction: `create --raw` sends the object. It names the uid of the pod that was
shown, so that a new pod of the same name is refused.
"""

import shlex
from collections.abc import Iterable

from gpustack.ask.api import ADMIN
from gpustack.files.json_text import dump_json
from gpustack.probes.kubernetes.node_pods import NodePod

SCRIPT = f"""
evict() {{
  reply=$(printf %s "$3" | kubectl {ADMIN} --request-timeout=20s create --raw "$2" -f - 2>&1) && return
  printf '%s\\t%s\\n' "$1" "$(printf %s "$reply" | tr '\\n\\t' '  ')"
}}
"""


def build_eviction_script(pods: Iterable[NodePod]) -> str:
    """Build a script that evicts pods, and prints a line for each that the API refuses: its full name and the
    refusal."""
    return SCRIPT + "".join(build_eviction_line(pod) for pod in pods) + "exit 0\n"


def build_eviction_line(pod: NodePod) -> str:
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    return f"evict {shlex.join((pod.full_name, path, dump_json(eviction)))}\n"


def parse_refusals(text: str) -> dict[str, str]:
    """Parse the refusals by the full names of pods. A pod that is gone, or that is another one of its name, was not
    refused. Raise ValueError for a line of another shape."""
    refusals = {}
    for line in text.splitlines():
        name, refusal = line.split("\t")
        if "(NotFound)" not in refusal and "the UID in the precondition" not in refusal:
            refusals[name] = refusal.removeprefix("Error from server ").strip()
    return refusals

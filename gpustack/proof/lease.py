"""The Lease that tells when a node was last proven. Prometheus reads no annotation of a node, and kube-state-metrics
exports the time of every Lease (kube_lease_renew_time) as it comes."""

from datetime import UTC, datetime
from typing import Any

from gpustack.proof.workload import LABELS
from gpustack.vocabulary.proof_leases import PREFIX

APPLY = "application/apply-patch+yaml"
"""The content type of a server-side apply, which creates or changes an object in one request."""


def build_proof_lease(node: str, uid: str, namespace: str, moment: datetime, author: str) -> dict[str, Any]:
    """Build the Lease of a node with this UID, which the garbage collector deletes after the node. `moment` is when the
    proof began, to the microsecond, as the API demands."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": f"{PREFIX}{node}",
            "namespace": namespace,
            "labels": LABELS,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "spec": {
            "holderIdentity": author,
            "renewTime": f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        },
    }

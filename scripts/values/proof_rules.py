"""Recording rules of the last proof of each node, from the Leases that kube-state-metrics tells of."""

from gpustack.vocabulary.proof_leases import MARGIN_SECONDS, PREFIX
from scripts.values.normalise import Rule

AGE = "gpustack:node_proof_age:seconds"


def build_proof_rules() -> list[Rule]:
    return [
        Rule(
            AGE,
            "time() - max by (node) (\n  label_replace(\n"
            f'    kube_lease_renew_time{{lease=~"{PREFIX}.+"}},\n    "node", "$1", "lease", "{PREFIX}(.+)"\n  )\n)',
            comment="Since the last proof of every GPU of a node began. Not there for a node that was never proven.",
        ),
        Rule(
            "gpustack:node_boot_unproven:info",
            "(\n  max by (node) (\n    node_boot_time_seconds\n    * on (namespace, pod) group_left (node)\n"
            '    max by (namespace, pod, node) (kube_pod_info{node!=""})\n  )\n'
            f"  + on (node) {AGE}\n  - time() > {MARGIN_SECONDS}\n) * 0 + 1",
            comment="Always 1: the node's host has booted since its last proof. Not there where node-exporter or the "
            "proof is not.",
        ),
    ]

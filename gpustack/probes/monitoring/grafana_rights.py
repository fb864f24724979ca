"""Read the rules of the ClusterRole by which Grafana's ServiceAccount reads in all namespaces.

Kind: https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/cluster-role-v1.
"""

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

ROLE = "grafana-clusterrole"
"""Follows the name of the release, as in the chart: a ClusterRoleBinding cannot be changed to another name."""


def read_rules(answer: Answer) -> tuple[str, ...] | None:
    """Read `VERB GROUP/RESOURCE` of every rule; None without such a ClusterRole. Raises KeyError or ValueError for
    another shape."""
    roles = entries(answer)
    if not roles:
        return None
    return tuple(
        f"{verb} {group}/{resource}".replace(" /", " ")
        for rule in roles[0].get("rules") or ()
        for verb in rule["verbs"]
        for group in rule.get("apiGroups") or ("nonResourceURLs",)
        for resource in rule.get("resources") or rule["nonResourceURLs"]
    )


GRAFANA_RULES = Probe(
    "grafana.rules",
    Api(
        f"/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldSelector=metadata.name%3D$RELEASE-{ROLE}",
        ("metadata.name", "rules"),
    ),
    read_rules,
    like="kubectl describe clusterrole RELEASE-grafana-clusterrole",
)

"""The rules of the ClusterRole by which Grafana's ServiceAccount reads in all namespaces.

Kind: https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/cluster-role-v1.
"""

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

ROLE = "grafana-clusterrole"
"""The end of the name, behind that of the release as in the chart: a ClusterRoleBinding cannot be changed to another
name."""


def parse_role_rules(answer: Answer) -> tuple[str, ...] | None:
    """Parse `VERB GROUP/RESOURCE` of every rule, or None without such a ClusterRole.

    Raise KeyError or ValueError where the answer has another shape.
    """
    roles = list_objects(answer)
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
    parse_role_rules,
    manual_command="kubectl describe clusterrole RELEASE-grafana-clusterrole",
)

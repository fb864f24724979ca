"""Recording rules of certificates, from kubelet and kube-apiserver."""

from scripts.values.normalise import Rule

# Bounds of apiserver_client_certificate_expiration_seconds; between two it would be a guess. Prometheus 3 stores them
# as floats, Prometheus 2 as the API server writes them.
EXPIRY_BOUNDS = {"7d": "604800([.]0)?", "30d": "2[.]592e[+]06"}
# Certificates that are made for hours (of a proof, of a person) are not counted as expiring.
SHORT_BOUND = "86400([.]0)?"
CLIENTS = "apiserver_client_certificate_expiration_seconds_bucket"


def build_certificate_rules() -> list[Rule]:
    client_rules = [
        Rule(
            "gpustack:cluster_client_certificates_expiring:rate5m",
            f'sum(rate({CLIENTS}{{le=~"{expiry_bound}"}}[5m])) - sum(rate({CLIENTS}{{le=~"{SHORT_BOUND}"}}[5m]))',
            {"within": days},
            comment="Requests a second with a certificate that ends within these days, not in one."
            if days == "7d"
            else "",
        )
        for days, expiry_bound in EXPIRY_BOUNDS.items()
    ]
    kubelet_rule = Rule(
        "gpustack:node_kubelet_certificate:seconds",
        'min by (node) (kubelet_certificate_manager_client_ttl_seconds{node!=""} < +Inf)',
        comment="Until the certificate ends with which the kubelet speaks to the API.",
    )
    return [*client_rules, kubelet_rule]

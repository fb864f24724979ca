"""Control plane: what was fixed when the cluster was created, compared with the spec. Install only compares it."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Check, Result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.endpoint import resolve_endpoint
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, COMPONENT_LISTENERS, CONFIG, SETTINGS
from gpustack.steps.control_plane.host import choose_cure

FIXED_HINT = Prose(
    "settled when the cluster was made: correct gpustack.kubernetes in the inventory, or make the cluster anew"
)
KUBELET_HINT = Prose(
    "kubectl -n kube-system edit configmap kubelet-config; then on every host: "
    "kubeadm upgrade node phase kubelet-config && systemctl restart kubelet"
)
PROXY_HINT = Prose(
    "kubectl -n kube-system edit configmap kube-proxy; then: "
    "kubectl -n kube-system rollout restart daemonset kube-proxy"
)
NAMES_HINT = Prose(
    "add them to apiServer.certSANs of {}, move pki/apiserver.{{crt,key}} away, then: {}",
    CONFIG,
    Command("kubeadm", "init", "phase", "certs", "apiserver", "--config", CONFIG),
)
BIND_HINT = Prose("change the addresses in /etc/kubernetes/manifests and in ConfigMap kube-system/kube-proxy")
METRICS = {2381: "etcd", 10249: "kube-proxy", 10257: "kube-controller-manager", 10259: "kube-scheduler"}
ANY_ADDRESSES = {"*", "0.0.0.0", "[::]"}  # noqa: S104 - what ss(8) calls any address


def endpoint(view: View) -> Result | None:
    """The cluster's endpoint is that of the spec. It stands in all kubeconfigs and certificates since the cluster was
    made. Correct `kubernetes.endpoint` where the spec is wrong; another endpoint needs another cluster."""
    cluster = view[SETTINGS].cluster or {}
    expected_endpoint = resolve_endpoint(view.snapshot.inventory)
    actual_endpoint = cluster.get("controlPlaneEndpoint", "")
    return expect("kubernetes.endpoint", expected_endpoint, actual_endpoint, choose_cure(view), hint=FIXED_HINT)


def networks(view: View) -> Result | None:
    """Pod network, service network and DNS domain are those of the spec."""
    spec, cluster = view.spec.kubernetes, view[SETTINGS].cluster or {}
    networking = cluster.get("networking", {})
    pods, services, domain = (networking.get(key) for key in ("podSubnet", "serviceSubnet", "dnsDomain"))
    expected_networks = f"pods {spec.pod_cidr}, services {spec.service_cidr}, domain {spec.dns_domain}"
    actual_networks = f"pods {pods}, services {services}, domain {domain}"
    return expect("networks", expected_networks, actual_networks, choose_cure(view), hint=FIXED_HINT)


def certificate_names(view: View) -> Result | None:
    """The certificate of the API server covers every name in kubernetes.cert_sans."""
    covered_names = {
        name
        for certificate in view[CERTIFICATES]
        if certificate.subject == "kube-apiserver"
        for name in certificate.names
    }
    missing_names = set(view.spec.kubernetes.cert_sans) - covered_names
    if not missing_names:
        return None
    expected_names = f"valid for {format_value(missing_names)}"
    return Result(
        "certificate of the API", expected_names, "not valid for these names", choose_cure(view), hint=NAMES_HINT
    )


def metrics(view: View) -> Result | None:
    """The controller-manager, the scheduler, etcd and kube-proxy listen where the monitoring can (or must not) reach
    them."""
    bind = view.spec.kubernetes.metrics_bind
    expected_addresses = ANY_ADDRESSES if bind in ANY_ADDRESSES else {bind}
    listeners = {name: set(view[COMPONENT_LISTENERS].get(port, ())) for port, name in METRICS.items()}
    mismatched_listeners = {
        name: addresses for name, addresses in listeners.items() if not addresses or addresses - expected_addresses
    }
    if not mismatched_listeners:
        return None
    expected_address, actual_addresses = (
        str(bind),
        ", ".join(
            f"{name} {' '.join(sorted(addresses)) or 'none'}" for name, addresses in mismatched_listeners.items()
        ),
    )
    if any(mismatched_listeners.values()):
        return Result(
            "listen addresses of the metrics", expected_address, actual_addresses, choose_cure(view), hint=BIND_HINT
        )
    # What listens nowhere does not run: just after the cluster is made kube-proxy has not come yet.
    return Result("listen addresses of the metrics", expected_address, actual_addresses, passing=True)


def kubelet_settings(view: View) -> Result | None:
    """The kubelets are configured for systemd cgroups, and for swap and cgroup v1 as the spec says."""
    spec, actual_settings = view.spec, view[SETTINGS].kubelet or {}
    expected_settings = {
        "cgroupDriver": "systemd",
        "failCgroupV1": spec.kubelet.fail_cgroup_v1,
        "failSwapOn": spec.swap == "off",
    }
    return expect(
        "kubelet-config",
        format_settings(expected_settings),
        format_settings({key: actual_settings.get(key) for key in expected_settings}),
        choose_cure(view),
        hint=KUBELET_HINT,
    )


def proxy_settings(view: View) -> Result | None:
    """kube-proxy has the mode and the conntrack limits of the spec."""
    spec, proxy_configuration = view.spec.kube_proxy, view[SETTINGS].proxy or {}
    limits = proxy_configuration.get("conntrack") or {}
    expected_settings = {"mode": spec.mode, "maxPerCore": spec.conntrack.max_per_core, "min": spec.conntrack.min}
    actual_settings = {
        "mode": proxy_configuration.get("mode"),
        "maxPerCore": limits.get("maxPerCore"),
        "min": limits.get("min"),
    }
    return expect(
        "kube-proxy",
        format_settings(expected_settings),
        format_settings(actual_settings),
        choose_cure(view),
        hint=PROXY_HINT,
    )


def format_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {format_value(value)}" for key, value in settings.items())


CHECKS: tuple[Check, ...] = (endpoint, networks, certificate_names, metrics, kubelet_settings, proxy_settings)

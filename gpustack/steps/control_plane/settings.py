"""Control plane: what was fixed when the cluster was created, compared with the spec. Install only compares it."""

from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Check, Result, as_text, expect
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.endpoint import endpoint_of
from gpustack.probes.control_plane.kubeadm import CERTIFICATES, CONFIG, LISTENING, SETTINGS
from gpustack.steps.control_plane.host import cure

BORN = Prose(
    "settled when the cluster was made: correct gpustack.kubernetes in the inventory, or make the cluster anew"
)
KUBELETS = Prose(
    "kubectl -n kube-system edit configmap kubelet-config; then on every host: "
    "kubeadm upgrade node phase kubelet-config && systemctl restart kubelet"
)
PROXIES = Prose(
    "kubectl -n kube-system edit configmap kube-proxy; then: "
    "kubectl -n kube-system rollout restart daemonset kube-proxy"
)
NAMES = Prose(
    "add them to apiServer.certSANs of {}, move pki/apiserver.{{crt,key}} away, then: {}",
    CONFIG,
    Command("kubeadm", "init", "phase", "certs", "apiserver", "--config", CONFIG),
)
BINDS = Prose("change the addresses in /etc/kubernetes/manifests and in ConfigMap kube-system/kube-proxy")
METRICS = {2381: "etcd", 10249: "kube-proxy", 10257: "kube-controller-manager", 10259: "kube-scheduler"}
ANY = {"*", "0.0.0.0", "[::]"}  # noqa: S104 - what ss(8) calls any address


def endpoint(here: View) -> Result | None:
    """The cluster's endpoint is that of the spec."""
    cluster = here[SETTINGS].cluster or {}
    wanted, found = endpoint_of(here.snapshot.inventory), cluster.get("controlPlaneEndpoint", "")
    return expect("kubernetes.endpoint", wanted, found, cure(here), hint=BORN)


def networks(here: View) -> Result | None:
    """Pod network, service network and DNS domain are those of the spec."""
    spec, cluster = here.spec.kubernetes, here[SETTINGS].cluster or {}
    found = cluster.get("networking", {})
    wanted = f"pods {spec.pod_cidr}, services {spec.service_cidr}, domain {spec.dns_domain}"
    is_now = f"pods {found.get('podSubnet')}, services {found.get('serviceSubnet')}, domain {found.get('dnsDomain')}"
    return expect("networks", wanted, is_now, cure(here), hint=BORN)


def certificate_names(here: View) -> Result | None:
    """The certificate of the API server covers every name in kubernetes.cert_sans."""
    covered = {name for found in here[CERTIFICATES] if found.subject == "kube-apiserver" for name in found.names}
    missing = set(here.spec.kubernetes.cert_sans) - covered
    if not missing:
        return None
    wanted = f"valid for {as_text(missing)}"
    return Result("certificate of the API", wanted, "not valid for these names", cure(here), hint=NAMES)


def metrics(here: View) -> Result | None:
    """The controller-manager, the scheduler, etcd and kube-proxy listen where the monitoring can (or must not) reach
    them."""
    bind = here.spec.kubernetes.metrics_bind
    right = ANY if bind in ANY else {bind}
    listening = {name: set(here[LISTENING].get(port, ())) for port, name in METRICS.items()}
    wrong = {name: on for name, on in listening.items() if not on or on - right}
    if not wrong:
        return None
    wanted, found = str(bind), ", ".join(f"{name} {' '.join(sorted(on)) or 'none'}" for name, on in wrong.items())
    if any(wrong.values()):
        return Result("listen addresses of the metrics", wanted, found, cure(here), hint=BINDS)
    # What listens nowhere does not run: just after the cluster is made kube-proxy has not come yet.
    return Result("listen addresses of the metrics", wanted, found, passing=True)


def kubelet_settings(here: View) -> Result | None:
    """The kubelets are configured for systemd cgroups, and for swap and cgroup v1 as the spec says."""
    spec, found = here.spec, here[SETTINGS].kubelet or {}
    wanted = {"cgroupDriver": "systemd", "failCgroupV1": spec.kubelet.fail_cgroup_v1, "failSwapOn": spec.swap == "off"}
    return expect(
        "kubelet-config",
        format_settings(wanted),
        format_settings({key: found.get(key) for key in wanted}),
        cure(here),
        hint=KUBELETS,
    )


def proxy_settings(here: View) -> Result | None:
    """kube-proxy has the mode and the conntrack limits of the spec."""
    spec, found = here.spec.kube_proxy, here[SETTINGS].proxy or {}
    limits = found.get("conntrack") or {}
    wanted = {"mode": spec.mode, "maxPerCore": spec.conntrack.max_per_core, "min": spec.conntrack.min}
    is_now = {"mode": found.get("mode"), "maxPerCore": limits.get("maxPerCore"), "min": limits.get("min")}
    return expect("kube-proxy", format_settings(wanted), format_settings(is_now), cure(here), hint=PROXIES)


def format_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {as_text(value)}" for key, value in settings.items())


CHECKS: tuple[Check, ...] = (endpoint, networks, certificate_names, metrics, kubelet_settings, proxy_settings)

"""Settings that are fixed when the cluster is created are judged before: each key for kubeadm, each fault of it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jinja2
import pytest
import yaml

from gpustack.config.resources import locate_playbooks
from gpustack.doctor.graph import load_graph
from gpustack.steps import STEPS
from gpustack.steps.control_plane import step as control_plane
from gpustack.steps.creation import FIXED_SETTINGS, FixedSetting

every_setting = pytest.mark.parametrize("setting", FIXED_SETTINGS, ids=lambda setting: setting.keys[0])
CHANGEABLE = {
    "apiServer.certSANs": "a certificate is issued anew: kubeadm init phase certs apiserver",
    "apiServer.extraArgs": "limits in a manifest",
    "bootstrapTokens": "deleted at once",
    "clusterName": "a name in kubeconfigs",
    "conntrack.maxPerCore": "ConfigMap kube-proxy",
    "conntrack.min": "ConfigMap kube-proxy",
    "controllerManager.extraArgs": "addresses and limits in a manifest",
    "discovery.bootstrapToken.caCertHashes": "of the control plane that was made",
    "discovery.bootstrapToken.token": "of one join",
    "etcd.local.extraArgs": "an address in a manifest",
    "failSwapOn": "ConfigMap kubelet-config",
    "kubernetesVersion": "an upgrade",
    "memorySwap.swapBehavior": "ConfigMap kubelet-config",
    "metricsBindAddress": "ConfigMap kube-proxy",
    "mode": "ConfigMap kube-proxy",
    "networking.dnsDomain": "a name inside the cluster, for which no host is asked",
    "nodeRegistration.criSocket": "always containerd's",
    "nodeRegistration.ignorePreflightErrors": "of one run",
    "nodeRegistration.taints": "kubectl taint",
    "scheduler.extraArgs": "addresses and limits in a manifest",
}
"""Keys of our files that an owner can change later, or that nothing on a host can contradict."""
CHANGEABLE_PREFIXES = ("timeouts.", "apiVersion", "kind")
DEFAULTS = {"nodeRegistration.name", "etcd.local.dataDir"}
"""Keys that our files leave to kubeadm."""


def read_files() -> Iterator[Any]:
    for role, name in (("control_plane", "kubeadm.yaml.j2"), ("workers", "join.yaml.j2")):
        text = (locate_playbooks() / "roles" / role / "templates" / name).read_text()
        environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)
        environment.filters["to_json"] = str
        variables = {f"{role}_timeout_factor": 2, "control_plane_alone": True, "workers_token_parts": ["", ""]}
        yield from yaml.safe_load_all(environment.from_string(text).render(variables))


def list_leaves(document: Any, path: str = "") -> Iterator[str]:
    if not isinstance(document, dict):
        yield path
        return
    for key, inner in document.items():
        yield from list_leaves(inner, f"{path}.{key}" if path else key)


@cache
def list_keys() -> frozenset[str]:
    return frozenset(key for document in read_files() for key in list_leaves(document))


def test_every_key_that_kubeadm_reads_is_fixed_or_can_be_changed() -> None:
    fixed_keys = {key for setting in FIXED_SETTINGS for key in setting.keys}
    unlisted_keys = {
        key for key in list_keys() - fixed_keys - set(CHANGEABLE) if not key.startswith(CHANGEABLE_PREFIXES)
    }
    assert unlisted_keys == set(), "add it to FIXED_SETTINGS with its checks, or say here how it is changed later"
    assert fixed_keys & set(CHANGEABLE) == set()
    assert (fixed_keys | set(CHANGEABLE)) - list_keys() == DEFAULTS


@every_setting
def test_a_check_of_an_earlier_step_judges_it(setting: FixedSetting) -> None:
    earlier_steps = [step for step in STEPS[: STEPS.index(control_plane.STEP)] if step.id in control_plane.STEP.needs]
    earlier_checks = {check for step in earlier_steps for check in step.checks}
    assert setting.checks
    assert set(setting.checks) <= earlier_checks


@every_setting
def test_its_faults_are_those_of_the_doctor(setting: FixedSetting) -> None:
    assert setting.faults
    assert set(setting.faults) <= set(load_graph().faults)


def test_every_fault_that_only_a_new_cluster_resolves_has_a_setting() -> None:
    final_faults = {
        id
        for id, fault in load_graph().faults.items()
        if re.search(r"new cluster|[Rr]ecreate the cluster|cannot be changed later", f"{fault.fix.do} {fault.reason}")
    }
    assert final_faults
    assert final_faults <= {id for setting in FIXED_SETTINGS for id in setting.faults}

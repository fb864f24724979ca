"""The table of docs/secrets.md names every image of the version set, and what it asks outside of the cluster."""

import re

import pytest
import yaml

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.resources import PACKAGE
from gpustack.config.versions import KNOWN_SETS
from gpustack.steps.gpu.operator_values import build_release as build_operator
from gpustack.steps.monitoring.receiver import build_alertmanager_values
from tests.contract.sources import ROOT
from tests.unit.config.specs import build_inventory
from tests.worlds.snapshots.gpus import BARE, build_snapshot

PROXY = {"http": "http://p:3128"}
# Programs on hosts, which no image holds.
HOST_PROGRAMS = {
    "apt", "curl", "containerd", "kubelet", "prometheus-alertmanager", "kubeadm", "kubectl", "helm", "crictl"
}  # fmt: skip


def read_rows() -> dict[str, tuple[str, str]]:
    """Read by program what it asks, and by what it gets through the proxy."""
    text = (ROOT / "docs" / "secrets.md").read_text().partition("## What leaves the cluster\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {name: (asks, means) for names, asks, means in rows[2:] for name in names.split(", ")}


def list_image_names(version_set: str) -> set[str]:
    """List the names of all images, also of those without a digest."""
    document = yaml.safe_load((PACKAGE / "versions" / f"{version_set}.yaml").read_text())
    return {re.sub(r"[:@].*", "", image.rpartition("/")[2]) for image in document["images"]}


@pytest.mark.parametrize("version_set", KNOWN_SETS)
def test_the_table_names_every_image_and_no_other(version_set: str) -> None:
    assert set(read_rows()) - HOST_PROGRAMS == list_image_names(version_set)


def test_who_asks_the_cluster_alone_needs_no_proxy() -> None:
    assert {means for asks, means in read_rows().values() if asks == "the cluster"} == {"-"}
    leaving = {name for name, (asks, _) in read_rows().items() if asks != "the cluster"}
    proxy_users = {name for name, (_, means) in read_rows().items() if means != "-"}
    assert leaving - proxy_users == {"coredns", "grafana", "keda", "prometheus"}


def test_images_that_are_proxied_have_the_settings_that_the_table_names() -> None:
    proxy_users = {
        name: means for name, (_, means) in read_rows().items() if means != "-" and name not in HOST_PROGRAMS
    }
    assert set(proxy_users) == {"driver", "alertmanager"}
    driver = build_operator(View(build_snapshot(BARE, spec={"proxy": PROXY}), CLUSTER)).values["driver"]
    assert "`driver.env`" in proxy_users["driver"]
    assert {"HTTP_PROXY", "http_proxy"} <= {entry["name"] for entry in driver["env"]}
    values = build_alertmanager_values(build_inventory(proxy=PROXY))
    assert "`http_config`" in proxy_users["alertmanager"]
    assert values["config"]["global"]["http_config"] == {"proxy_from_environment": True}
    assert values["alertmanagerSpec"]["containers"][0]["env"]

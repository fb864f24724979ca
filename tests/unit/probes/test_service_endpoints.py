"""Whom services lead to, of kube-proxy's table: recorded on a lab of Kubernetes 1.36 with kube-proxy in nftables mode,
and the form of one chain for each pod, constructed after it."""

import subprocess
from pathlib import Path

from gpustack.probes.network.pod_network import ENDPOINTS

TABLE = Path(__file__).with_name("kube-proxy.nft").read_text()
AFFINE = "\tchain endpoint-5OJB2KTY-kube-system/kube-dns/udp/dns__10.244.0.9/53 {\n\t}\n"


def read(table: str) -> list[str]:
    process = subprocess.run(["awk", ENDPOINTS], input=table, capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


def test_pods_of_a_service_stand_in_its_chain() -> None:
    endpoints = read(TABLE)
    assert [line for line in endpoints if line.startswith("kube-system/kube-dns/udp/dns ")] == [
        "kube-system/kube-dns/udp/dns 10.244.0.2:53",
        "kube-system/kube-dns/udp/dns 10.244.0.3:53",
    ]
    assert "monitoring/monitoring-grafana/tcp/http-web 10.244.1.2:3000" in endpoints
    assert len(endpoints) == 19


def test_pods_that_a_client_comes_back_to_have_a_chain_each() -> None:
    assert read(AFFINE) == ["kube-system/kube-dns/udp/dns 10.244.0.9:53"]

"""Addresses, networks and names that cannot work are refused before any host is asked, and legal ones are not."""

from typing import Any

import pytest

from tests.unit.config.specs import list_complaints

PROXY = {"http": "http://192.0.2.9:3128"}
MIRROR = {"fingerprint": "A" * 40}


def build_spec(key: str, value: Any) -> dict[str, Any]:
    section, _, name = key.partition(".")
    neighbours = {"proxy.no_proxy": PROXY, "source.mirror": MIRROR}.get(key, {})
    return {section: {**neighbours, name: value}}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("firewall.sources", [5]),
        ("kubernetes.endpoint", "10.0.0.300:6443"),
        ("kubernetes.endpoint", "0.0.0.0:6443"),
        ("kubernetes.endpoint", "224.0.0.1:6443"),
        ("kubernetes.endpoint", "-.:6443"),
        ("kubernetes.endpoint", "kube..example.com:6443"),
        ("kubernetes.endpoint", "10.244.0.1:6443"),
        ("kubernetes.endpoint", "10.96.0.1:6443"),
        ("kubernetes.pod_cidr", "127.0.0.0/16"),
        ("kubernetes.pod_cidr", 5),
        ("kubernetes.service_cidr", "224.0.0.0/16"),
        ("kubernetes.service_cidr", "169.254.0.0/16"),
        ("kubernetes.cert_sans", ["a b"]),
        ("kubernetes.cert_sans", [""]),
        ("kubernetes.cert_sans", ["10.0.0.300"]),
        ("proxy.http", "http://192.0.2.9:99999"),
        ("proxy.no_proxy", ["10.0.0.0/33"]),
        ("proxy.no_proxy", ["http://x"]),
        ("proxy.no_proxy", [":::"]),
        ("proxy.no_proxy", ["--"]),
        ("proxy.no_proxy", ["10.0.0.300"]),
        ("source.mirror", "https://192.0.2.9:0"),
    ],
)
def test_what_cannot_work_is_refused_by_its_key(key: str, value: Any) -> None:
    (complaint,) = list_complaints(build_spec(key, value))
    assert complaint.key.startswith(f"gpustack.{key}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("firewall.sources", ["192.0.2.0/24", "198.51.100.7", "0.0.0.0/0"]),
        ("kubernetes.endpoint", "kube.example.com:6443"),
        ("kubernetes.endpoint", "192.0.2.1:6443"),
        ("kubernetes.endpoint", "k1:443"),
        ("kubernetes.pod_cidr", "240.10.0.0/16"),
        ("kubernetes.pod_cidr", "100.64.0.0/16"),
        ("kubernetes.cert_sans", ["kube.example.com", "*.example.com", "203.0.113.7", "2001:db8::7"]),
        ("proxy.http", "http://proxy.example.com:3128"),
        ("proxy.no_proxy", [".example.com", "*.example.com", "example.com:8080", "10.0.0.0/8", "10.0.0.7", "k1", "*"]),
        ("proxy.no_proxy", ["::1", "2001:db8::/32"]),
        ("source.mirror", "https://mirror.example.com"),
        ("source.mirror", "https://mirror.example.com:8480"),
    ],
)
def test_what_works_is_taken(key: str, value: Any) -> None:
    assert list_complaints(build_spec(key, value)) == []


@pytest.mark.parametrize(
    "address", [10, 167772161, "0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "169.254.1.1"]
)
def test_no_node_has_an_address_that_only_one_host_knows(address: Any) -> None:
    (complaint,) = list_complaints(h1={"gpustack_node_ip": address})
    assert complaint.key == "gpustack_node_ip"

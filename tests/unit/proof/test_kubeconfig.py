"""Servers of a kubeconfig: https, a name and a port, and the API's certificate names it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.proof.kubeconfig import Server, parse_server, refuse_unnamed


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://kube.example.com:6443", Server("kube.example.com", 6443)),
        ("https://Kube.Example.com:443/", Server("kube.example.com", 443)),
        ("https://10.78.0.11:6443", Server("10.78.0.11", 6443)),
        ("https://[2001:DB8::1]:6443", Server("2001:db8::1", 6443)),
    ],
)
def test_servers_are_parsed(url: str, server: Server) -> None:
    assert parse_server(url) == server
    assert parse_server(server.url) == server


@pytest.mark.parametrize(
    "url",
    [
        "", "kube1:6443", "http://kube1:6443", "https://kube1", "https://kube1:0", "https://kube1:x",
        "https://kube1:70000", "https://a@kube1:6443", "https://kube1:6443/path", "https://kube1:6443?x",
        "https://kube1:6443#x", "https://:6443", "https://a b:6443", "https://kube1\n:6443 x", "https://-x:6443",
        "https://::1:6443", "https://{{ x }}:6443", "exec://kube1:6443",
    ],
)  # fmt: skip
def test_other_texts_are_no_servers(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of urllib too
        parse_server(url)


@given(st.text(max_size=40))
def test_a_server_is_a_name_and_a_port_and_nothing_else(text: str) -> None:
    try:
        server = parse_server(f"https://{text}:6443")
    except ValueError:
        return
    assert set(server.url) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-:[]/")


def test_a_server_that_its_certificate_does_not_name_is_refused() -> None:
    refuse_unnamed(Server("kube1", 6443), {"kube1", "10.0.0.1"})
    with pytest.raises(ValueError, match=r"it is for 10\.0\.0\.1, kube1, and not for kube2"):
        refuse_unnamed(Server("kube2", 6443), {"kube1", "10.0.0.1"})
    with pytest.raises(ValueError, match="it is for no name"):
        refuse_unnamed(Server("kube2", 6443), set())

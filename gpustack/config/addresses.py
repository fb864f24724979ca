"""Addresses, networks and names of hosts that an operator writes: which forms can work at all."""

import re
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

# RFC 6890: this host, loopback, link-local; RFC 5771: multicast. 240.0.0.0/4 is left out: clouds give it to pods.
SPECIAL = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32")))
EXAMPLES = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
"""Networks of documents (RFC 5737), which no host has."""
LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
NAME = re.compile(rf"{LABEL}(\.{LABEL})*\.?", re.ASCII)
PORT = re.compile(r":(\d+)$", re.ASCII)


def refuse_number(value: object) -> object:
    """Refuse a number, which `ipaddress` takes for an address: 10 would be 0.0.0.10."""
    if isinstance(value, int):
        raise ValueError("dotted, such as 192.0.2.10 or 192.0.2.0/24")
    return value


def is_ipv4_address(text: str) -> bool:
    try:
        return bool(IPv4Address(text))
    except ValueError:
        return False


def is_example(text: str) -> bool:
    """Tell whether an address is one of documents, such as those that `gpustack init` writes."""
    return is_ipv4_address(text) and any(IPv4Address(text) in network for network in EXAMPLES)


def is_special(address: IPv4Address) -> bool:
    return any(address in network for network in SPECIAL)


def refuse_special_address(address: IPv4Address) -> IPv4Address:
    if is_special(address):
        raise ValueError("an address that other hosts reach: not this host, loopback, link-local or multicast")
    return address


def refuse_special_network(network: IPv4Network) -> IPv4Network:
    if any(network.overlaps(special) for special in SPECIAL):
        raise ValueError("a network apart from 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16 and 224.0.0.0/4")
    return network


def is_host_name(text: str) -> bool:
    """Tell whether a text is an IP address or a name of DNS. A name whose last part is a number is an address
    (RFC 1123, 2.1)."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return bool(NAME.fullmatch(text)) and not text.rstrip(".").rpartition(".")[2].isdigit()


def validate_port(text: str) -> str:
    """Return a text whose port is one of 1 to 65535, or that has none."""
    match = PORT.search(text)
    if match and not 0 < int(match[1]) < 65536:
        raise ValueError(f"{text[: match.start()]}:PORT, with a port of 1 to 65535")
    return text


def validate_endpoint(text: str) -> str:
    name = validate_port(text).rpartition(":")[0].strip("[]")
    if not is_host_name(name):
        raise ValueError("name:port, with a name of DNS or an IP address")
    # Loopback serves as an endpoint on one host.
    if is_ipv4_address(name) and is_special(address := IPv4Address(name)) and not address.is_loopback:
        raise ValueError("name:port, with an address that every host reaches")
    return text


def validate_certificate_name(text: str) -> str:
    if not is_host_name(text.removeprefix("*.")):
        raise ValueError("a name of DNS, *.domain or an IP address")
    return text


def validate_direct_host(text: str) -> str:
    """Return an entry of NO_PROXY that Go understands (golang.org/x/net/http/httpproxy, Config.init)."""
    if text == "*" or is_network(text):
        return text
    name = PORT.sub("", validate_port(text)).removeprefix("*").removeprefix(".")
    if not is_host_name(name):
        raise ValueError("a name, a .domain, an address or a network, such as .example.com or 10.0.0.0/8")
    return text


def is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


NodeAddress = Annotated[IPv4Address, BeforeValidator(refuse_number), AfterValidator(refuse_special_address)]
Network = Annotated[IPv4Network, BeforeValidator(refuse_number)]
"""A network of any clients; 0.0.0.0/0 is everyone."""
ClusterNetwork = Annotated[Network, AfterValidator(refuse_special_network)]

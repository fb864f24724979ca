"""Pseudonyms of addresses, the same one for the same address: IPv4, IPv6 and MAC.

Two addresses that share their first n bits share the first n bits of their pseudonyms (as in Crypto-PAn, Fan et al.
2004), so that the borders of networks stay where they were. Networks with a meaning of their own are not changed:
loopback, link-local, multicast, and those of pods and Services. The pseudonym of a private address is private.
"""

import hashlib
import hmac
from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# 192.0.2.0/24 and its like are for documentation (RFC 5737, RFC 3849): our own checks use them as a stranger's.
PRESERVED_NETWORKS = (
    "0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 192.0.2.0/24 198.51.100.0/24 224.0.0.0/3 "
    "::/96 ::ffff:0:0/96 2001:db8::/32 ff00::/8"
)
# Their first bits stay, the others do not.
PRIVATE_NETWORKS = "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fe80::/64"
# Of a private IPv4 address the last byte stays: networks begin with 0, and the first address of one is its gateway's.
LOW = 8
PRESERVED_MACS = ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff")


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


class Addresses:
    """Replace addresses by pseudonyms that depend on `key`, which is random and stored nowhere.

    `preserved_networks` are left as they are, beside PRESERVED_NETWORKS.
    """

    def __init__(self, key: bytes, preserved_networks: Iterable[Network]) -> None:
        self.key = key
        self.preserved_networks = (*parse_networks(PRESERVED_NETWORKS.split()), *preserved_networks)
        self.private_networks = parse_networks(PRIVATE_NETWORKS.split())
        self.anonymize = cache(self.compute_pseudonym)

    def compute_pseudonym(self, text: str) -> str:
        """Compute the pseudonym of an address or network (ADDRESS/BITS). Raise ValueError where the text is neither."""
        base, slash, bits = text.partition("/")
        address = ip_address(base)
        length = int(bits) if bits.isdigit() else address.max_prefixlen
        number = int(address)
        # The host's part of a network is nothing but zeros, and stays so.
        prefix_length = length if number & ((1 << (address.max_prefixlen - length)) - 1) == 0 else address.max_prefixlen
        return f"{type(address)(self.flip_bits(address, min(prefix_length, address.max_prefixlen)))}{slash}{bits}"

    def flip_bits(self, address: Address, depth: int) -> int:
        bits, number = address.max_prefixlen, int(address)
        if any(address in network for network in self.preserved_networks if network.version == address.version):
            return number
        low = (
            LOW
            if address.version == 4
            and any(
                address in private_network for private_network in self.private_networks if private_network.version == 4
            )
            else 0
        )
        result = number
        for place in range(min(depth, bits - low)):
            if self.is_flipped(number >> (bits - place), place, address.version, bits):
                result ^= 1 << (bits - place - 1)
        return result

    def is_flipped(self, prefix: int, place: int, version: int, bits: int) -> bool:
        """Tell whether the bit behind this prefix is flipped. A bit on the way to a preserved network never is."""
        longer_networks = (
            network
            for network in (*self.preserved_networks, *self.private_networks)
            if network.version == version and place < network.prefixlen
        )
        if any(int(network.network_address) >> (bits - place) == prefix for network in longer_networks):
            return False
        return bool(self.digest(f"{version} {place} {prefix}")[0] & 1)

    def anonymize_mac(self, text: str) -> str:
        """Compute a locally administered pseudonym of a MAC address. A multicast address is returned as it is."""
        low = text.lower()
        if low in PRESERVED_MACS or int(low[:2], 16) & 1:
            return text
        return ":".join(["02", *(f"{byte:02x}" for byte in self.digest(low)[:5])])

    def digest(self, text: str) -> bytes:
        return hmac.digest(self.key, text.encode(), hashlib.sha256)


def is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False

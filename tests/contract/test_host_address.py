"""Check that `Host.address` is for the transport and for reports: other hosts may not know that address.

The test reads the receiver of each `.address` in the sources. A new one is of a host, or a row below says of what.
"""

import ast
from functools import cache

from tests.contract.sources import PRODUCT

READERS = {
    "ask/snapshot.py": "where the connection of a recording ended",
    "ask/transport/": "the connection itself",
    "config/endpoint.py": "a name, which every host has to resolve to an address of the control plane",
    "config/host.py": "the address of the node, where the inventory has none, and what the inventory calls the host",
    "config/validate.py": "one address for two hosts",
    "config/validity.py": "the addresses of an example, which no host has",
    "remedy/commands.py": "ssh, as a person types it",
    "report/json.py": "the hosts of a document",
    "rollout/anonymize.py": "other names for all hosts of a recording",
}
"""The files that read the address of a host, each with its purpose."""
OF_OTHERS = {
    "access.service", "announcement", "engine", "host_reach", "line", "node", "options", "peer_announcement", "reach",
    "running[0]", "service", "serving", "source", "web",
}  # fmt: skip
"""The names of nodes, Services, engines, connections, servers and lines about a PCI device, whose addresses are no
host's."""


@cache
def find_reads() -> frozenset[tuple[str, str]]:
    """Find file and receiver of each `.address`."""
    return frozenset(
        (str(path.relative_to(PRODUCT)), ast.unparse(node.value))
        for path in PRODUCT.rglob("*.py")
        if ".address" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "address"
    )


def is_allowed(file: str, receiver: str) -> bool:
    return (
        receiver in OF_OTHERS
        or file.startswith(tuple(READERS))
        or (receiver == "self" and not file.startswith("config/"))
    )


def test_only_the_transport_and_reports_read_how_a_host_is_reached() -> None:
    other_reads = sorted(read for read in find_reads() if not is_allowed(*read))
    assert other_reads == [], (
        "take Host.node_address, or step node_address; of something else than a host, add it to OF_OTHERS"
    )


def test_every_row_is_read() -> None:
    reads = find_reads()
    assert {receiver for _, receiver in reads} >= OF_OTHERS
    files = {file for file, receiver in reads if receiver not in OF_OTHERS}
    assert [row for row in READERS if not any(file.startswith(row) for file in files)] == []

"""Address translation between this machine and the hosts of a lab, as a cloud gives each host a public address that
the host itself does not have.

Only packets of this machine are translated. A host that sends to a public address gets no answer, as behind the gateway
of a site.
"""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gpustack_lab import lab

TABLE = "gpustack_lab_translation"


@contextmanager
def translate_addresses(running_lab: lab.Lab, public_addresses: Mapping[str, str]) -> Iterator[None]:
    """Translate the public address of each host, by the host's name, to the address that the host has."""
    rules = "".join(
        f"ip daddr {address} dnat to {running_lab.record.select_host(name).address}\n"
        for name, address in public_addresses.items()
    )
    output_chain = f"chain sent {{\ntype nat hook output priority -100; policy accept;\n{rules}}}\n"
    drops = "".join(f"ip daddr {address} drop\n" for address in public_addresses.values())
    forward_chain = f"chain forwarded {{\ntype filter hook forward priority 0; policy accept;\n{drops}}}\n"
    table = f"table ip {TABLE} {{\n{output_chain}{forward_chain}}}\n"
    run_nft(f"table ip {TABLE} {{}}\ndelete table ip {TABLE}\n{table}")
    try:
        yield
    finally:
        run_nft(f"delete table ip {TABLE}\n")


def run_nft(document: str) -> None:
    subprocess.run(["nft", "-f", "-"], input=document, text=True, timeout=30, check=True)

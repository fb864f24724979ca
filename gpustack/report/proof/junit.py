"""A proof for CI systems: a suite per node, a case per GPU and link. Broken is a failure, unknown an error, and a GPU
in use is skipped."""

from itertools import groupby
from xml.etree.ElementTree import Element

from gpustack.config.inventory import Inventory
from gpustack.proof.chain import Link, Row
from gpustack.proof.prove import Proof
from gpustack.report.junit import add, document, entry_for, suite


def text(done: Proof, inventory: Inventory) -> str:
    taken = done.taken.strftime("%Y-%m-%dT%H:%M:%S")
    suites = [
        suite(node, [case(row, name, link) for row in rows for name, link in row.links], taken)
        for node, rows in groupby(done.rows, key=lambda row: row.node)
    ]
    if done.unasked:
        suites.append(suite("not asked", [missed(host, why) for host, why in done.unasked], taken))
    if done.stopped or done.left:
        suites.append(suite("proof", [ended(done.stopped or done.left)], taken))
    return document("gpustack prove", suites, done.seconds, inventory)


def case(row: Row, name: str, link: Link) -> Element:
    made = entry_for(f"{row.node}.{name}", row.uuid or row.bus or "a GPU without a UUID", 0.0)
    tag = {"failed": "failure", "unknown": "error", "skipped": "skipped"}.get(link.outcome)
    if tag:
        add(made, tag, link.why, "" if tag == "skipped" else link.outcome)
    return made


def missed(host: str, why: str) -> Element:
    made = entry_for("host", host, 0.0)
    add(made, "error", why, "unknown")
    return made


def ended(why: str) -> Element:
    made = entry_for("proof", "runs to its end and takes its pods away", 0.0)
    add(made, "failure", why, "stopped")
    return made

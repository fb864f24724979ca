"""A proof for CI systems, with a suite per node and a case per GPU and link. A broken link is a failure, an unknown
one is an error, and a GPU in use is skipped."""

from itertools import groupby
from xml.etree.ElementTree import Element

from gpustack.config.inventory import Inventory
from gpustack.proof.chain import Link, Row
from gpustack.proof.prove import Proof
from gpustack.report.junit import add_result, build_entry, build_suite, render_junit_document


def render_junit(proof: Proof, inventory: Inventory) -> str:
    timestamp = proof.started_at.strftime("%Y-%m-%dT%H:%M:%S")
    suites = [
        build_suite(node, [build_case(row, name, link) for row in rows for name, link in row.links], timestamp)
        for node, rows in groupby(proof.rows, key=lambda row: row.node)
    ]
    if proof.skipped_hosts:
        suites.append(
            build_suite(
                "not asked", [build_skipped_case(host, reason) for host, reason in proof.skipped_hosts], timestamp
            )
        )
    if proof.stop_reason or proof.remaining:
        suites.append(build_suite("proof", [build_end_case(proof.stop_reason or proof.remaining)], timestamp))
    return render_junit_document("gpustack prove", suites, proof.seconds, inventory)


def build_case(row: Row, name: str, link: Link) -> Element:
    element = build_entry(f"{row.node}.{name}", row.uuid or row.bus or "a GPU without a UUID", 0.0)
    tag = {"failed": "failure", "unknown": "error", "skipped": "skipped"}.get(link.outcome)
    if tag:
        add_result(element, tag, link.reason, "" if tag == "skipped" else link.outcome)
    return element


def build_skipped_case(host: str, reason: str) -> Element:
    element = build_entry("host", host, 0.0)
    add_result(element, "error", reason, "unknown")
    return element


def build_end_case(reason: str) -> Element:
    element = build_entry("proof", "runs to its end and takes its pods away", 0.0)
    add_result(element, "failure", reason, "stopped")
    return element

"""Proofs that never were, for the reports: all good, something of everything, no GPU, and one that was interrupted."""

from dataclasses import replace
from pathlib import Path

from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.proof.chain import HOLDS, Link, Row
from gpustack.proof.prove import Proof
from tests.worlds.results.plans import PASSWORD, TAKEN_AT, build_hosts

MODEL = "NVIDIA H100 80GB HBM3"
UUID = "GPU-5cb66dbb-38fa-edb4-6a36-7c2f0e2c2a{:02x}"
INVENTORY = Inventory(Path("site/hosts.yml"), build_hosts("kube1", "gpu1", "gpu2"), Spec())
PARTS = (("kernel", 6.2), ("series", 12.0), ("dashboard", 0.2), ("removal", 1.4))


def build_row(node: str, index: int, kernel: Link = HOLDS, series: Link = HOLDS, panel: Link = HOLDS) -> Row:
    bus = f"0000:{65 + index % 2}:00.0"
    return Row(node, UUID.format(index), kernel, series, panel, index=str(index % 2), bus=bus, model=MODEL)


def make_good_proof() -> Proof:
    rows = tuple(build_row(node, index) for index, node in enumerate(("gpu1", "gpu1", "gpu2", "gpu2")))
    return Proof(TAKEN_AT, rows, (), PARTS, 19.8, hosts=3)


def make_mixed_proof() -> Proof:
    """Broken, unknown, in use, a GPU without a name, a host that was not asked, and what a stranger wrote."""
    swapped_gpu = Link("failed", "Prometheus has this UUID at 0000:66:00.0, the pod met it at 0000:65:00.0")
    stuck = Link("unknown", f"ImagePullBackOff: \x1b[31mBack-off [bold]pulling[/bold] password={PASSWORD}")
    no_panel = Link("unknown", "Grafana did not answer within 15 s")
    rows = (
        build_row("gpu1", 0, series=swapped_gpu, panel=no_panel),
        replace(build_row("gpu1", 1, Link("skipped", "in use by default/train-0"), panel=no_panel), index=""),
        build_row("gpu2", 2, stuck, Link("ok", note="the exporter names no pod that uses it"), no_panel),
        Row("gpu2", "", Link("failed", "the kubelet offers one GPU less than it has: unhealthy, or lost"), model=MODEL),
    )
    return Proof(
        TAKEN_AT, rows, (("kube1", "unreachable: no answer from 10.0.0.1 within 10 s"),), PARTS, 19.8, 2, hosts=3
    )


def make_empty_proof() -> Proof:
    return Proof(TAKEN_AT, (), seconds=0.6, hosts=3)


def make_interrupted_proof() -> Proof:
    leftover = "the pods could not be removed (the API was not reached); they end by themselves within 240 s"
    rows = tuple(replace(row, kernel=Link("unknown", "interrupted")) for row in make_good_proof().rows)
    return replace(make_good_proof(), rows=rows, stop_reason="interrupted", remaining=leftover)


def make_busy_proof() -> Proof:
    return replace(
        make_good_proof(), rows=tuple(replace(row, kernel=Link("skipped", "in use")) for row in make_good_proof().rows)
    )

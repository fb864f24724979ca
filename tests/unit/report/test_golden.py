"""Every report as text, compared with tests/golden.

`GOLDEN=write pytest tests/unit/report` writes them anew; the difference is then to be read in git.
"""

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.doctor.graph import graph
from gpustack.proof.delivery import Delivery
from gpustack.report import human, json, junit
from gpustack.report.doctor import json as doctor_json
from gpustack.report.doctor import junit as doctor_junit
from gpustack.report.doctor import text as doctor
from gpustack.report.error import render
from gpustack.report.fix import json as fix_json
from gpustack.report.fix import text as fix
from gpustack.report.proof import delivery
from gpustack.report.proof import json as proof_json
from gpustack.report.proof import junit as proof_junit
from gpustack.report.proof import text as proof
from gpustack.report.removal import json as removal_json
from gpustack.report.removal import text as removal
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import Verification
from tests.unit.report import diagnosed, invented, mended, proven, removed
from tests.unit.report.errors import ERRORS

GOLDEN = Path(__file__).parents[2] / "golden"
KNOWN = len(graph().faults)
COUNTED = f"{KNOWN - diagnosed.healthy().unchecked} of {KNOWN} "


def printed(draw: Callable[[Terminal], None]) -> str:
    stream = io.StringIO()
    draw(Terminal(stream, width=80, color_system=None))
    text = stream.getvalue().replace(COUNTED, "N of M ")  # a fault more changes no golden
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


SENT = Delivery("delivered", "", ("gpustack",), ("webhook",), 1.12)
REFUSED = replace(
    SENT, outcome="failed", why="webhook: it failed (HTTP 5xx)", seconds=11.2, left="gone; it ends by itself"
)


def verified(plan: str) -> Verification:
    found = getattr(invented, plan)()
    return Verification(found, 0.64, len(found.snapshot.answers))


RENDERINGS: dict[str, Callable[[], str]] = {
    "plan-bare.txt": lambda: printed(lambda out: human.plan(out, invented.bare())),
    "plan-bare-verbose.txt": lambda: printed(lambda out: human.plan(out, invented.bare(), verbose=True)),
    "plan-bare.json": lambda: json.plan(invented.bare()),
    "plan-bare.xml": lambda: junit.plan(invented.bare()),
    "plan-converged.txt": lambda: printed(lambda out: human.plan(out, invented.converged())),
    "plan-converged-verbose.txt": lambda: printed(lambda out: human.plan(out, invented.converged(), verbose=True)),
    "plan-wide.txt": lambda: printed(lambda out: human.plan(out, invented.wide())),
    "verify-converged.txt": lambda: printed(lambda out: human.verification(out, verified("converged"))),
    "verify-converged.json": lambda: json.verification(verified("converged")),
    "verify-bare.txt": lambda: printed(lambda out: human.verification(out, verified("bare"))),
    "install-good.txt": lambda: printed(lambda out: human.outcome(out, invented.installed())),
    "install-good.json": lambda: json.outcome(invented.installed()),
    "install-failed.txt": lambda: printed(lambda out: human.outcome(out, invented.failed(), evidence="runs/1")),
    "install-failed.json": lambda: json.outcome(invented.failed(), evidence="runs/1"),
    "install-failed.xml": lambda: junit.outcome(invented.failed()),
    "install-interrupted.txt": lambda: printed(
        lambda out: human.outcome(out, replace(invented.failed(), played=(), stopped="interrupted"))
    ),
    "reset-shown.txt": lambda: printed(lambda out: removal.removal(out, removed.shown())),
    "reset-nothing.txt": lambda: printed(lambda out: removal.nothing(out, removed.nothing())),
    "reset-good.txt": lambda: printed(lambda out: removal.outcome(out, removed.good(), "runs/1")),
    "reset-left.txt": lambda: printed(lambda out: removal.outcome(out, removed.left(), "runs/1")),
    "reset-left.json": lambda: removal_json.text(removed.left(), "runs/1"),
    "prove-good.txt": lambda: printed(lambda out: proof.proof(out, proven.good(), proven.INVENTORY)),
    "prove-good.json": lambda: proof_json.text(proven.good(), proven.INVENTORY),
    "prove-mixed.txt": lambda: printed(lambda out: proof.proof(out, proven.mixed(), proven.INVENTORY, "runs/1")),
    "prove-mixed.json": lambda: proof_json.text(proven.mixed(), proven.INVENTORY, "runs/1"),
    "prove-mixed.xml": lambda: proof_junit.text(proven.mixed(), proven.INVENTORY),
    "prove-none.txt": lambda: printed(lambda out: proof.proof(out, proven.none(), proven.INVENTORY)),
    "prove-interrupted.txt": lambda: printed(
        lambda out: proof.proof(out, proven.interrupted(), proven.INVENTORY, "runs/1")
    ),
    "alert-test-good.txt": lambda: printed(lambda out: delivery.delivery(out, SENT, proven.INVENTORY)),
    "alert-test-failed.txt": lambda: printed(lambda out: delivery.delivery(out, REFUSED, proven.INVENTORY)),
    "alert-test-failed.json": lambda: delivery.text(REFUSED, proven.INVENTORY),
    "doctor-healthy.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnosed.healthy())),
    "doctor-ufw.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnosed.ufw())),
    "doctor-ufw-verbose.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnosed.ufw(), verbose=True)),
    "doctor-ufw.json": lambda: doctor_json.text(diagnosed.ufw()),
    "doctor-ufw.xml": lambda: doctor_junit.text(diagnosed.ufw()),
    "doctor-unexplained.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnosed.unexplained())),
    "doctor-unexplained.xml": lambda: doctor_junit.text(diagnosed.unexplained()),
    "doctor-together.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnosed.together())),
    "fix-offer.txt": lambda: printed(
        lambda out: fix.offer(out, mended.offer(mended.before()), mended.DIFFERENCES, mended.INVENTORY)
    ),
    "fix-good.txt": lambda: printed(lambda out: fix.fixed(out, mended.good(), evidence="runs/1")),
    "fix-good.json": lambda: fix_json.text(mended.good(), "runs/1"),
    "fix-mixed.txt": lambda: printed(lambda out: fix.fixed(out, mended.mixed(), evidence="runs/1")),
    "fix-mixed.json": lambda: fix_json.text(mended.mixed(), "runs/1"),
    "undo-shown.txt": lambda: printed(lambda out: fix.last_fix(out, mended.last(), mended.INVENTORY)),
    "undo-good.txt": lambda: printed(lambda out: fix.undone(out, mended.undone(), mended.INVENTORY, evidence="runs/1")),
    "undo-good.json": lambda: fix_json.undone(mended.undone(), mended.INVENTORY, "runs/1"),
    **{f"error-{error.reference}.txt": lambda error=error: render(error) for error in ERRORS},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_rendering(name: str) -> None:
    text, path = RENDERINGS[name](), GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", RENDERINGS)
def test_nothing_secret_and_no_escape_is_shown(name: str) -> None:
    text = RENDERINGS[name]()
    assert invented.PASSWORD not in text
    assert "\x1b" not in text


def test_every_file_belongs_to_a_rendering() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(RENDERINGS)


@pytest.mark.parametrize(
    "name", [name for name in RENDERINGS if name.endswith(".txt") and not name.startswith("error")]
)
def test_80_columns_are_enough_but_for_commands(name: str) -> None:
    typed = ("next: ", "ansible-playbook ", "give the host ")
    lines = RENDERINGS[name]().splitlines()
    wide = [line for line in lines if len(line) > 80 and not line.strip().startswith(typed)]
    assert wide == []

"""The lab of a run: brought up, installed, saved; broken, asked, healed. Its hosts carry the decoys all the time."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpustack import lab
from gpustack.doctor.graph import graph
from gpustack.errors import LabError
from gpustack.lab.faults import broken, inject
from gpustack.lab.faults.entries import find
from scripts.accuracy.cases import Case
from scripts.accuracy.results import PERSON, STAYS, Result
from scripts.accuracy.shapes import Shape, prepare
from tests.snapshots import fixture

GPUSTACK = [sys.executable, "-m", "gpustack.cli.app"]
SAVED = "healthy"
CALM = 300.0
FORGET = """export KUBECONFIG=/etc/kubernetes/admin.conf
for name in $(kubectl get namespaces -o jsonpath='{.items[*].metadata.name}'); do
  kubectl delete --raw "/api/v1/namespaces/$name/events" >/dev/null || exit
done
"""
# Pods that failed for a fault that is healed would be started again in minutes. What waits for a mark of the operator's
# validator waits for ever, if that had made it before the toolkit was made anew.
WAKE = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get pods -A --no-headers | awk '$4 ~ /CrashLoopBackOff$/ {print $1, $2}' | while read -r namespace pod; do
  kubectl -n "$namespace" delete pod --wait=false "$pod" >/dev/null
done
! kubectl -n gpu-operator get pods --no-headers 2>/dev/null | grep -q Init: ||
  kubectl -n gpu-operator delete pod --wait=false -l app=nvidia-operator-validator >/dev/null
"""
ROLLED_OUT = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get daemonsets,deployments -A --no-headers -o custom-columns=:.metadata.namespace,:.kind,:.metadata.name |
  while read -r namespace kind name; do
    kubectl -n "$namespace" rollout status --timeout=1s "$kind/$name" >/dev/null || exit
  done
"""
REACTS = 10.0
"""Seconds, until the GPU operator does what its policy says."""


def typed(*words: str | Path, codes: tuple[int, ...] = (0,), limit: float = 1800) -> str:
    return ended(*words, codes=codes, limit=limit).stdout


def ended(*words: str | Path, codes: tuple[int, ...], limit: float) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*GPUSTACK, *map(str, words)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=limit,
    )
    if done.returncode not in codes:
        sys.exit(f"gpustack {' '.join(map(str, words))} ended with {done.returncode}\n{done.stderr}{done.stdout}")
    return done


def ready(name: str, shape: Shape | None = None) -> lab.Lab:
    """The lab, healthy; it is made where it is not there."""
    try:
        made = lab.find(name)
    except LabError:
        bundle = typed("bundle", "build", "--quiet").strip()
        words = shape.up if shape else ("--os", "debian-12,debian-13", "--gpus", "2")
        typed("lab", "up", "--name", name, *words, "--mirror", bundle)
        made = lab.find(name)
        if shape:
            prepare(made, shape)
        typed("install", "-i", made.inventory, "--yes")
        if not calm(made):
            sys.exit("The cluster was installed, and doctor does not call it healthy: gpustack doctor -v")
        made.save(SAVED)
    healed(made)
    if not fixture.HEALTHY.exists():
        fixture.keep_healthy(asked(made)[2])
    return made


def asked(made: lab.Lab) -> tuple[dict[str, Any], float, Path]:
    """What doctor says, in how many seconds from the first question on, and the recording that it judged."""
    recording = made.record.state / "accuracy.jsonl"
    recording.unlink(missing_ok=True)
    started = time.monotonic()
    typed("snapshot", "-i", made.inventory, "--out", recording, "--quiet")
    answer = typed("doctor", "--from", recording, "-o", "json", codes=(0, 1, 8), limit=120)
    return json.loads(answer), time.monotonic() - started, recording


def calm(made: lab.Lab) -> bool:
    until = time.monotonic() + CALM
    while time.monotonic() < until:
        if asked(made)[0]["healthy"] and settled(made):
            return True
        made.exec("host1", ["sudo", "sh", "-s"], text=WAKE, limit=60)
        time.sleep(5)
    return False


def settled(made: lab.Lab) -> bool:
    """What a controller makes anew is there again: the next fault would meet it half way."""
    return not made.exec("host1", ["sudo", "sh", "-s"], text=ROLLED_OUT, limit=60).returncode


def healed(made: lab.Lab) -> bool:
    """Whether undoing everything but the decoys was enough. Where it was not, the lab is what it was when it was
    saved."""
    touched = any("clusterpolicy" in script for one in wrong(made) for script in find(one.injector).plane.values())
    try:
        for one in reversed(wrong(made)):
            inject.recover(made, one.injector)
        inject.disguise(made)
    except LabError as error:
        sys.stderr.write(f"{error.message} {error.why}\n")
    # The operator comes to what changed a few seconds later.
    time.sleep(REACTS if touched else 0)
    if not wrong(made) and calm(made):
        return True
    made.restore(SAVED)
    inject.disguise(made)
    if not calm(made):
        sys.exit("The saved lab is not healthy any more: gpustack doctor -v")
    return False


def wrong(made: lab.Lab) -> list[broken.Broken]:
    """What is broken, but for the decoys."""
    return [one for one in broken.read(made.record) if not inject.is_decoy(one)]


def forget(made: lab.Lab) -> None:
    """Events of what was broken and healed before are no part of the next case."""
    done = made.exec("host1", ["sudo", "sh", "-s"], text=FORGET, limit=60)
    if done.returncode:
        sys.stderr.write(f"events of earlier cases are left: {done.stderr.strip()}\n")


def try_fix(made: lab.Lab, case: Case) -> str:
    """How `doctor --fix` ended with the one fault, and whether doctor calls the lab healthy after it."""
    (fault,) = case.faults
    known = graph().faults[fault]
    if any(one.stays for one in case.injectors):
        return STAYS
    if known.auto == "no" or known.remedy is None:
        return PERSON
    words = ("--fix", fault, "--yes", "--yes-to", fault)
    done = ended("doctor", *words, "-i", made.inventory, "-q", "-o", "json", codes=tuple(range(10)), limit=1800)
    if not done.stdout:
        return f"not begun: {' '.join(done.stderr.split())}"
    (tried,) = json.loads(done.stdout)["attempts"] or [{"ending": "no root", "reason": ""}]
    if tried["ending"] == "manual":
        return PERSON
    if tried["ending"] != "fixed":
        return f"{tried['ending']}: {tried['reason']}"
    return "fixed" if calm(made) else "fixed, and not healthy"


def play(made: lab.Lab, case: Case, code: str, *, fix: bool = False) -> Result:
    """`fix`: where doctor named exactly the one fault, it is asked to fix it too."""
    forget(made)
    try:
        # On a host that is cut off, what has to show in the cluster would never show.
        for one in sorted(case.injectors, key=lambda one: not {"break", "shows"} & one.plane.keys()):
            inject.give(made, one.name)
    except LabError as error:
        actual = f"could not be made: {error.message} {error.why}"
        return Result(case.name, list(case.faults), [], 0.0, actual, 0, [], healed(made), "")
    answer, seconds, recording = asked(made)
    roots = answer["roots"]
    # What comes from the same act as a root is part of it; where that was broken on purpose, it was named.
    beside = {one["id"] for root in roots for one in root["correlated"]} & set(case.faults)
    found = sorted({root["id"] for root in roots} | beside)
    if case.faults:
        fixture.keep(case.name, recording)
    first = roots[0]["judged"][0] if roots and roots[0]["judged"] else {}
    actual = f"{first['what']}: {first['found']}" if first else ""
    fixed = try_fix(made, case) if fix and len(found) == 1 and found == list(case.faults) else ""
    return Result(
        case.name,
        list(case.faults),
        found,
        round(seconds, 1),
        actual,
        sum(len(root["impact"]) for root in roots),
        [one["id"] for one in answer["unexplained"]],
        healed(made),
        code,
        fixed,
    )

"""The lab of a run: brought up, installed and saved; broken, asked and healed. Its hosts carry the decoys all the
time."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpustack.doctor.graph import load_graph
from gpustack.errors import LabError
from gpustack_lab import lab
from gpustack_lab.lab.faults import active_faults, inject
from gpustack_lab.lab.faults.entries import find
from scripts.accuracy.cases import Case
from scripts.accuracy.results import NO_LAB_FIX, PERSON, Result
from scripts.accuracy.shapes import Shape, prepare_hosts
from tests.snapshots import fixture

GPUSTACK = [sys.executable, "-m", "gpustack.cli.app"]
SNAPSHOT_NAME = "healthy"
HEALTH_LIMIT = 300.0
FORGET_SCRIPT = """export KUBECONFIG=/etc/kubernetes/admin.conf
for name in $(kubectl get namespaces -o jsonpath='{.items[*].metadata.name}'); do
  kubectl delete --raw "/api/v1/namespaces/$name/events" >/dev/null || exit
done
"""
# Pods that failed for a fault that is healed would be started again in minutes. What waits for a mark of the operator's
# validator waits for ever, if that had made it before the toolkit was made anew.
WAKE_SCRIPT = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get pods -A --no-headers | awk '$4 ~ /CrashLoopBackOff$/ {print $1, $2}' | while read -r namespace pod; do
  kubectl -n "$namespace" delete pod --wait=false "$pod" >/dev/null
done
! kubectl -n gpu-operator get pods --no-headers 2>/dev/null | grep -q Init: ||
  kubectl -n gpu-operator delete pod --wait=false -l app=nvidia-operator-validator >/dev/null
"""
ROLLOUT_SCRIPT = """export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get daemonsets,deployments -A --no-headers -o custom-columns=:.metadata.namespace,:.kind,:.metadata.name |
  while read -r namespace kind name; do
    kubectl -n "$namespace" rollout status --timeout=1s "$kind/$name" >/dev/null || exit
  done
"""
REACTION_SECONDS = 10.0
"""Seconds until the GPU operator does what its policy says."""


def run_gpustack(*words: str | Path, codes: tuple[int, ...] = (0,), limit: float = 1800) -> str:
    return execute_gpustack(*words, codes=codes, limit=limit).stdout


def execute_gpustack(*words: str | Path, codes: tuple[int, ...], limit: float) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(
        [*GPUSTACK, *map(str, words)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=limit,
    )
    if process.returncode not in codes:
        sys.exit(
            f"gpustack {' '.join(map(str, words))} ended with {process.returncode}\n{process.stderr}{process.stdout}"
        )
    return process


def prepare_lab(name: str, shape: Shape | None = None) -> lab.Lab:
    """Prepare a healthy lab, which is created where it does not exist."""
    try:
        test_lab = lab.find_lab(name)
    except LabError:
        bundle = run_gpustack("bundle", "build", "--quiet").strip()
        words = shape.up_options if shape else ("--os", "debian-12,debian-13", "--gpus", "2")
        run_gpustack("lab", "up", "--name", name, *words, "--mirror", bundle)
        test_lab = lab.find_lab(name)
        if shape:
            prepare_hosts(test_lab, shape)
        run_gpustack("install", "-i", test_lab.inventory, "--yes")
        if not wait_until_healthy(test_lab):
            sys.exit("The cluster was installed, and doctor does not call it healthy: gpustack doctor -v")
        test_lab.save(SNAPSHOT_NAME)
    repair_lab(test_lab)
    if not fixture.HEALTHY.exists():
        fixture.keep_healthy(run_doctor(test_lab)[2])
    return test_lab


def run_doctor(test_lab: lab.Lab) -> tuple[dict[str, Any], float, Path]:
    """Run doctor, and return its document, the seconds from the first question on, and the recording that it judged."""
    recording = test_lab.record.state / "accuracy.jsonl"
    recording.unlink(missing_ok=True)
    start_time = time.monotonic()
    run_gpustack("snapshot", "-i", test_lab.inventory, "--out", recording, "--quiet")
    answer = run_gpustack("doctor", "--from", recording, "-o", "json", codes=(0, 1, 8), limit=120)
    return json.loads(answer), time.monotonic() - start_time, recording


def wait_until_healthy(test_lab: lab.Lab) -> bool:
    deadline = time.monotonic() + HEALTH_LIMIT
    while time.monotonic() < deadline:
        if run_doctor(test_lab)[0]["healthy"] and is_rolled_out(test_lab):
            return True
        test_lab.exec("host1", ["sudo", "sh", "-s"], text=WAKE_SCRIPT, limit=60)
        time.sleep(5)
    return False


def is_rolled_out(test_lab: lab.Lab) -> bool:
    """Tell whether all controllers have rolled out: the next fault would meet them half way."""
    return not test_lab.exec("host1", ["sudo", "sh", "-s"], text=ROLLOUT_SCRIPT, limit=60).returncode


def repair_lab(test_lab: lab.Lab) -> bool:
    """Undo everything but the decoys, and tell whether that was enough. Where it was not, the lab is restored to its
    saved state."""
    has_policy_fault = any(
        "clusterpolicy" in script
        for breakage in list_breakages(test_lab)
        for script in find(breakage.injector).plane.values()
    )
    try:
        for broken_fault in reversed(list_breakages(test_lab)):
            inject.undo_faults(test_lab, broken_fault.injector)
        inject.inject_decoys(test_lab)
    except LabError as error:
        sys.stderr.write(f"{error.message} {error.reason}\n")
    # The operator comes to what changed a few seconds later.
    time.sleep(REACTION_SECONDS if has_policy_fault else 0)
    if not list_breakages(test_lab) and wait_until_healthy(test_lab):
        return True
    test_lab.restore(SNAPSHOT_NAME)
    inject.inject_decoys(test_lab)
    if not wait_until_healthy(test_lab):
        sys.exit("The saved lab is not healthy any more: gpustack doctor -v")
    return False


def list_breakages(test_lab: lab.Lab) -> list[active_faults.ActiveFault]:
    """List the active faults without the decoys."""
    return [breakage for breakage in active_faults.read(test_lab.record) if not inject.is_decoy(breakage)]


def forget_events(test_lab: lab.Lab) -> None:
    """Delete events of earlier cases, which are no part of the next one."""
    process = test_lab.exec("host1", ["sudo", "sh", "-s"], text=FORGET_SCRIPT, limit=60)
    if process.returncode:
        sys.stderr.write(f"events of earlier cases are left: {process.stderr.strip()}\n")


def try_fix(test_lab: lab.Lab, case: Case) -> str:
    """Run `doctor --fix` for the one fault, and say how it ended and whether doctor calls the lab healthy after it."""
    (fault,) = case.faults
    catalogue_fault = load_graph().faults[fault]
    if any(injector.stays for injector in case.injectors):
        return NO_LAB_FIX
    if catalogue_fault.remediation == "manual":
        return PERSON
    words = ("--fix", fault, "--yes", "--yes-to", fault)
    process = execute_gpustack(
        "doctor", *words, "-i", test_lab.inventory, "-q", "-o", "json", codes=tuple(range(10)), limit=1800
    )
    if not process.stdout:
        return f"not begun: {' '.join(process.stderr.split())}"
    (attempt,) = json.loads(process.stdout)["attempts"] or [{"outcome": "no root", "reason": ""}]
    if attempt["outcome"] == "manual":
        return PERSON
    if attempt["outcome"] != "fixed":
        return f"{attempt['outcome']}: {attempt['reason']}"
    return "fixed" if wait_until_healthy(test_lab) else "fixed, and not healthy"


def play_case(test_lab: lab.Lab, case: Case, code: str, *, fix: bool = False) -> Result:
    """Play a case. With `fix`, doctor is also asked to fix a fault that it named exactly."""
    forget_events(test_lab)
    try:
        # On a host that is cut off, what has to show in the cluster would never show.
        for injector in sorted(case.injectors, key=lambda candidate: not {"break", "shows"} & candidate.plane.keys()):
            inject.inject_fault(test_lab, injector.name)
    except LabError as error:
        actual = f"could not be made: {error.message} {error.reason}"
        return Result(case.name, list(case.faults), [], 0.0, actual, 0, [], repair_lab(test_lab), "")
    answer, seconds, recording = run_doctor(test_lab)
    roots = answer["roots"]
    # What comes from the same act as a root is part of it; where that was broken on purpose, it was named.
    correlated_ids = {cause["id"] for root in roots for cause in root["correlated_causes"]} & set(case.faults)
    root_ids = sorted({root["id"] for root in roots} | correlated_ids)
    if case.faults:
        fixture.keep(case.name, recording)
    first_judgement = roots[0]["judgements"][0] if roots and roots[0]["judgements"] else {}
    actual = f"{first_judgement['subject']}: {first_judgement['actual']}" if first_judgement else ""
    fix_outcome = try_fix(test_lab, case) if fix and len(root_ids) == 1 and root_ids == list(case.faults) else ""
    return Result(
        case.name,
        list(case.faults),
        root_ids,
        round(seconds, 1),
        actual,
        sum(len(root["impact"]) for root in roots),
        [symptom["id"] for symptom in answer["unexplained_symptoms"]],
        repair_lab(test_lab),
        code,
        fix_outcome,
    )

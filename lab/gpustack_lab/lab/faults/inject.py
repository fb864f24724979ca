"""Inject faults into a lab, and undo them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event
from gpustack_lab.lab import cgroups
from gpustack_lab.lab.faults import active_faults
from gpustack_lab.lab.faults.active_faults import ActiveFault
from gpustack_lab.lab.faults.entries import Injector, find, read_decoys
from gpustack_lab.lab.lab import Lab

LIMIT = 300.0
PLANE = "host1"
FUNCTIONS = ("prelude.sh", "cluster.sh")


def inject_fault(lab: Lab, name: str, host: str = "", *, wait: bool = True) -> list[ActiveFault]:
    """Inject a fault, and wait for its symptom. An incomplete fault is recorded, so that `undo_faults` undoes it. Raise
    LabError for an unknown fault or host, and for a script that fails."""
    injector = find(name)
    existing_faults = active_faults.read(lab.record)
    new_faults = [ActiveFault(injector.name, host_name) for host_name in select_hosts(lab, injector, host)]
    if duplicates := [fault for fault in new_faults if fault in existing_faults]:
        reason = f"{duplicates[0].host} has it."
        raise LabError(
            "lab-fault-twice",
            f"{injector.name} was made before.",
            reason,
            Command("gpustack", "lab", "recover", injector.name),
        )
    active_faults.write(lab.record, [*existing_faults, *new_faults])
    for new_fault in new_faults:
        run_part(lab, injector, "break", new_fault.host)
    for new_fault in new_faults if wait else ():
        run_part(lab, injector, "shows", new_fault.host)
    return new_faults


def inject_decoys(lab: Lab) -> list[ActiveFault]:
    """Inject every missing decoy into all hosts. Raise LabError for a script that fails."""
    injected_names = {existing_fault.injector for existing_fault in active_faults.read(lab.record)}
    return [fault for name in read_decoys() if name not in injected_names for fault in inject_fault(lab, name)]


def undo_faults(lab: Lab, name: str = "") -> list[ActiveFault]:
    """Undo all faults, or those of one name, the last one first. Raise LabError for a script that fails; faults that
    were undone before stay undone, and are recorded as that."""
    remaining_faults = active_faults.read(lab.record)
    chosen_faults = [
        candidate
        for candidate in remaining_faults
        if not name or name in (candidate.injector, candidate.injector.partition("/")[0])
    ]
    for fault in reversed(chosen_faults):
        remaining_faults.remove(fault)
        has_others = any(not is_decoy(remaining_fault) for remaining_fault in remaining_faults)
        run_part(lab, find(fault.injector), "heal", fault.host, beside=has_others)
        active_faults.write(lab.record, remaining_faults)
    return chosen_faults


def is_decoy(fault: ActiveFault) -> bool:
    return fault.injector in read_decoys()


def select_hosts(lab: Lab, injector: Injector, host: str) -> Sequence[str]:
    names = [lab_host.name for lab_host in lab.hosts]
    if host:
        return [lab.record.select_host(host).name]
    if injector.target == "every":
        return names
    return [PLANE] if injector.target == "control-plane" else [names[-1]]


def run_part(lab: Lab, injector: Injector, part: str, host: str, *, beside: bool = False) -> None:
    """Run one part on the host, then on the control plane. `beside` says that the lab has other faults."""
    if words := injector.gpu.get(part):
        lab.set_gpu(f"{host}:0", *words)
    with cgroups.keep_thawed(*(lab.record.format_group_name(lab_host.name) for lab_host in lab.hosts)):
        for target, script in ((host, injector.host.get(part)), (PLANE, injector.plane.get(part))):
            if script:
                lab.report(Event("step", target, f"{part} {injector.name}"))
                run_script(lab, injector, target, script, node=host, beside=beside)


def read_functions() -> str:
    """Read the functions of sh that scripts may call."""
    return "\n".join(Path(__file__).with_name(name).read_text() for name in FUNCTIONS)


def run_script(lab: Lab, injector: Injector, host_name: str, script: str, *, node: str, beside: bool) -> None:
    hosts = {host.name: host.address for host in lab.hosts}
    variables = f"NODE={node} ADDRESS={hosts[node]} PLANE={hosts[PLANE]} HOSTS='{' '.join(hosts.values())}'"
    words = [variables, f"BESIDE={'yes' if beside else ''}", "export NODE ADDRESS PLANE HOSTS"]
    full_script = "\n".join([read_functions(), *words, script, ""])
    try:
        process = lab.exec(host_name, ["sudo", "sh", "-s"], text=full_script, limit=LIMIT)
    except subprocess.TimeoutExpired as error:
        message, reason = f"{injector.name} was not done on {host_name}.", f"It did not end in {error.timeout:.0f} s."
        raise LabError("lab-fault-failed", message, reason, Command("gpustack", "lab", "recover")) from error
    if process.returncode:
        output = (process.stderr or process.stdout).strip()[-600:]
        message = f"{injector.name} could not be done on {host_name} (exit status {process.returncode})."
        raise LabError(
            "lab-fault-failed", message, output or "It printed nothing.", Command("gpustack", "lab", "recover")
        )

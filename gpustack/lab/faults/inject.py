"""Gives a lab a fault, and takes it away."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event
from gpustack.lab import cgroups
from gpustack.lab.faults import broken
from gpustack.lab.faults.broken import Broken
from gpustack.lab.faults.entries import Injector, decoys, find
from gpustack.lab.lab import Lab

LIMIT = 300.0
PLANE = "host1"
FUNCTIONS = ("prelude.sh", "cluster.sh")


def give(made: Lab, name: str, host: str = "", *, wait: bool = True) -> list[Broken]:
    """Breaks the lab, and waits until it shows. What is half done is remembered, so that `recover` undoes it. Raises
    LabError for an unknown fault or host, and for a script that fails."""
    what = find(name)
    there = broken.read(made.record)
    new = [Broken(what.name, where) for where in places(made, what, host)]
    if twice := [one for one in new if one in there]:
        why = f"{twice[0].host} has it."
        raise LabError(
            "lab-fault-twice", f"{what.name} was made before.", why, Command("gpustack", "lab", "recover", what.name)
        )
    broken.write(made.record, [*there, *new])
    for one in new:
        part(made, what, "break", one.host)
    for one in new if wait else ():
        part(made, what, "shows", one.host)
    return new


def disguise(made: Lab) -> list[Broken]:
    """Gives every host what looks like a fault and is none, as far as it has that not yet. Raises LabError for a script
    that fails."""
    there = {one.injector for one in broken.read(made.record)}
    return [one for name in decoys() if name not in there for one in give(made, name)]


def recover(made: Lab, name: str = "") -> list[Broken]:
    """Takes away all faults, or those of one name, the last one first. Raises LabError for a script that fails; what
    was healed before stays healed, and is remembered as that."""
    left = broken.read(made.record)
    chosen = [one for one in left if not name or name in (one.injector, one.injector.partition("/")[0])]
    for one in reversed(chosen):
        left.remove(one)
        part(made, find(one.injector), "heal", one.host, beside=any(not is_decoy(other) for other in left))
        broken.write(made.record, left)
    return chosen


def is_decoy(one: Broken) -> bool:
    return one.injector in decoys()


def places(made: Lab, what: Injector, host: str) -> Sequence[str]:
    names = [one.name for one in made.hosts]
    if host:
        return [made.record.host(host).name]
    if what.where == "every":
        return names
    return [PLANE] if what.where == "control-plane" else [names[-1]]


def part(made: Lab, what: Injector, which: str, host: str, *, beside: bool = False) -> None:
    """On the host, then on the control plane. `beside`: other faults are left in the lab."""
    if words := what.gpu.get(which):
        made.set_gpu(f"{host}:0", *words)
    with cgroups.thawing(*(made.record.group(one.name) for one in made.hosts)):
        for where, script in ((host, what.host.get(which)), (PLANE, what.plane.get(which))):
            if script:
                made.report(Event("step", where, f"{which} {what.name}"))
                run(made, what, where, script, node=host, beside=beside)


def functions() -> str:
    """Those of sh that scripts may call."""
    return "\n".join(Path(__file__).with_name(name).read_text() for name in FUNCTIONS)


def run(made: Lab, what: Injector, where: str, script: str, *, node: str, beside: bool) -> None:
    hosts = {one.name: one.address for one in made.hosts}
    known = f"NODE={node} ADDRESS={hosts[node]} PLANE={hosts[PLANE]} HOSTS='{' '.join(hosts.values())}'"
    words = [known, f"BESIDE={'yes' if beside else ''}", "export NODE ADDRESS PLANE HOSTS"]
    whole = "\n".join([functions(), *words, script, ""])
    try:
        done = made.exec(where, ["sudo", "sh", "-s"], text=whole, limit=LIMIT)
    except subprocess.TimeoutExpired as error:
        message, why = f"{what.name} was not done on {where}.", f"It did not end in {error.timeout:.0f} s."
        raise LabError("lab-fault-failed", message, why, Command("gpustack", "lab", "recover")) from error
    if done.returncode:
        output = (done.stderr or done.stdout).strip()[-600:]
        message = f"{what.name} could not be done on {where} (exit status {done.returncode})."
        raise LabError(
            "lab-fault-failed", message, output or "It printed nothing.", Command("gpustack", "lab", "recover")
        )

"""The GPUs of a lab host: put into its root before it boots, changed from outside while it runs.

    /var/lib/simulated-gpus/state    see state_text
    /var/lib/simulated-gpus/events   lines `xid MINOR CODE SECONDS`, appended
    /var/lib/simulated-gpus/pci/     what lab-init shows at /sys/bus/pci/devices

They lie in the host's root: they reboot, are saved and restored, and go with it. The files are written in place: the
simulated driver links them to where containers have them mounted.
"""

import fcntl
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.simulated import pci, words
from gpustack.simulated.models import DEFAULT, Model, model
from gpustack.simulated.state_text import Gpu, State, parse, render

DIRECTORY = Path("var/lib/simulated-gpus")
DRIVER, CUDA = "595.91.07", 13020
MOST = 16  # GPUs of one host
NAMES = uuid.UUID("7a0f4a4e-6f0c-5d0e-9d3c-5f1f3f0a6c21")
WANTED = re.compile(r"(?:([a-z0-9-]+):)?([0-9]{1,3})(?:x([A-Za-z0-9]+))?")
HINT = Command("gpustack", "lab", "up", "--gpus", "2", "--model", "H100")


def fleet(hosts: Sequence[str], wanted: str, key: str = "") -> dict[str, tuple[int, str]]:
    """How many GPUs of which model each host has. `wanted`: "2" for every host, "host2:4" for one, "host2:4xL4" for one
    with GPUs of its own model; several with commas. Raises LabError with all that is wrong."""
    model(key or DEFAULT)
    made = dict.fromkeys(hosts, (0, ""))
    wrong = []
    for word in wanted.split(",") if wanted else []:
        match = WANTED.fullmatch(word.strip())
        if not match or int(match[2]) > MOST:
            wrong.append(f"{word!r}: N, HOST:N or HOST:NxMODEL, at most {MOST} on a host")
        elif match[1] and match[1] not in made:
            wrong.append(f"{word!r}: the hosts are {', '.join(hosts)}")
        else:
            of = model(match[3] or key or DEFAULT).key
            made |= dict.fromkeys([match[1]] if match[1] else hosts, (int(match[2]), of if int(match[2]) else ""))
    if wrong:
        raise LabError("lab-bad-request", f"There can be no such GPUs: {wanted}.", "\n".join(wrong), HINT)
    return made


def fit(root: Path, lab: str, host: str, count: int, key: str) -> None:
    """Put GPUs into the root of a host that has none yet."""
    home = root / DIRECTORY
    if not count or (home / "state").exists():
        return
    made = model(key)
    for index in range(count):
        pci.write(home / "pci", index, made)
    (home / "events").touch()
    # Last: what is complete has a state.
    fresh = home / "state.new"
    gpus = tuple(gpu(lab, host, index, made) for index in range(count))
    loads = tuple(f"load {field} {keys}" for field, keys in words.FIELD_LOADS.items())
    fresh.write_text(render(State(DRIVER, CUDA, gpus, loads)))
    fresh.rename(home / "state")


def gpu(lab: str, host: str, index: int, of: Model) -> Gpu:
    """The same UUID for the same place in a lab of the same name."""
    own = uuid.uuid5(NAMES, f"{lab}/{host}/{index}")
    facts = {
        "uuid": f"GPU-{own}",
        "bus": pci.bus(index),
        "minor": str(index),
        "name": of.name.replace(" ", "_"),
        "serial": f"{own.int % 10**13:013}",
        "pciid": f"{of.device:#06x}",
        "arch": str(of.architecture),
        "cc": of.capability,
        "mem": str(of.memory),
        "maxlimit": str(of.limit),
        "idle": str(of.idle),
        "smmax": str(of.sm_clock),
        "memmax": str(of.memory_clock),
        "maxop": str(of.warm),
        "slowdown": str(of.hot),
        "pcie_gen": str(of.pcie),
    }
    return Gpu(facts | ({"mig": "0"} if of.mig else {}))


def chosen(name: str) -> tuple[str, int | None]:
    """Host and index of "host1:0"; "host1" is all GPUs of it. Raises LabError for anything else."""
    host, colon, index = name.partition(":")
    if not host or (colon and not (index.isascii() and index.isdigit())):
        why = "A GPU is written as host1:0, all of a host as host1."
        raise LabError(
            "lab-unknown-gpu", f"{name!r} is no GPU of a lab.", why, Command("gpustack", "lab", "gpu", "list")
        )
    return host, int(index) if colon else None


def read(root: Path) -> State | None:
    """None of a host without GPUs. Raises LabError for a state that somebody broke."""
    try:
        return parse((root / DIRECTORY / "state").read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _broken(root, error) from error


def change(root: Path, indices: Sequence[int], settings: Sequence[str]) -> list[Gpu]:
    """Do the words to those GPUs, all at once or none. Gives the GPUs as they are then. Raises LabError."""
    after: dict[int, words.Set] = {}

    def set_all(state: State) -> State:
        after.update({index: words.apply(state.gpus[index], settings) for index in indices})
        gpus = tuple(after[i].gpu if i in after else gpu for i, gpu in enumerate(state.gpus))
        return State(state.driver, state.cuda, gpus, state.others)

    _rewrite(root, set_all)
    lines = [f"xid {done.gpu.minor} {code} {int(time.time())}\n" for done in after.values() for code in done.xids]
    with (root / DIRECTORY / "events").open("a") as events:
        events.write("".join(lines))
    return [done.gpu for done in after.values()]


def _rewrite(root: Path, change: Callable[[State], State]) -> None:
    """Write the state in place, in one piece that is no shorter than before: whoever reads it meanwhile finds lines."""
    with (root / DIRECTORY / "state").open("r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = file.read()
        try:
            text = render(change(parse(before.decode()))).encode()
        except ValueError as error:
            raise _broken(root, error) from error
        os.pwrite(file.fileno(), text.ljust(len(before), b"\n"), 0)
        file.truncate(len(text))


def _broken(root: Path, error: ValueError) -> LabError:
    path = root / DIRECTORY / "state"
    return LabError(
        "lab-gpu-state-broken",
        f"The state of simulated GPUs cannot be read: {error}.",
        str(path),
        Command("cat", str(path)),
    )
